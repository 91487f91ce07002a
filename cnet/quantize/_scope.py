"""Base classes of quantizers with one codebook for the whole model, or one for each layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.errors import SpecError
from cnet.parts.capabilities import Curvature
from cnet.quantize.quantizer import Quantizer
from cnet.symbols import Symbols

_MAX_CENTROIDS = 2**16  # labels are uint16

Floats = npt.NDArray[np.floating]
Shapes = Sequence[tuple[int, ...]]


class Layered(Quantizer):
    """A quantizer that can treat each layer by itself; a subclass declares the values of ``scope``.

    The centroids of all layers together are the centroids of the model, and a layer uses a few of them. The encoder
    ``compact`` adapts to that, so that many centroids do not make the labels larger.
    """

    scope: str

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Shapes = (),
        curvature: Curvature | None = None,  # noqa: ARG002 - for quantizers that need it
    ) -> Symbols:
        """As ``Quantizer.symbols``.

        Raises:
            SpecError: the layers have more than 65,536 centroids together.
        """
        return self.symbols_by_scope(
            shapes, vector.dtype, lambda part, own: self.one_codebook(vector[part], keep[part], clusters, own)
        )

    def symbols_by_scope(
        self, shapes: Shapes, dtype: np.dtype[np.floating], quantize_part: Callable[[slice, Shapes], Symbols]
    ) -> Symbols:
        """The symbols of w_net with one codebook for all of it, or one for each layer.

        Args:
            shapes: of the layers, in the order of w_net; empty: w_net is one vector.
            dtype: of w_net.
            quantize_part: gives the symbols of a slice of w_net that shares a codebook, from the slice and the shapes
                of the layers in it.

        Raises:
            SpecError: the layers have more than 65,536 centroids together.
        """
        if self.scope == "network" or not shapes:
            return quantize_part(slice(None), shapes)
        parts, start = [], 0
        for shape in shapes:
            part = slice(start, start + math.prod(shape))
            parts.append(quantize_part(part, [shape]))
            start = part.stop
        return _join(parts, dtype)

    def one_codebook(
        self, vector: Floats, keep: npt.NDArray[np.bool_], clusters: int | None, shapes: Shapes
    ) -> Symbols:
        """The symbols of weights that share a codebook; arguments as for ``symbols``."""
        return super().symbols(vector, keep, clusters, shapes)


class Scoped(Layered):
    """A quantizer with one codebook for the whole model, or one for each layer."""

    scope: Literal["network", "layer"] = Field(
        default="network", description="One codebook for the whole model, or one for each layer."
    )


def _join(parts: Sequence[Symbols], dtype: np.dtype[np.floating]) -> Symbols:
    """The symbols of consecutive slices of w_net as one, with the union of their centroids."""
    union = np.unique(np.concatenate([np.empty(0, dtype), *(part.centroids for part in parts)]))
    if len(union) > _MAX_CENTROIDS:
        raise SpecError(
            f"quantize: the layers have {len(union):,} centroids together, more than {_MAX_CENTROIDS:,}. Ask for "
            "fewer clusters, or set scope to network."
        )
    labels = [np.empty(0, np.int64)]
    labels += [np.searchsorted(union, part.centroids)[part.labels] for part in parts if part.labels is not None]
    flat = np.concatenate(labels)
    keep = np.concatenate([np.empty(0, np.bool_), *(part.keep for part in parts)])
    return Symbols(keep, flat.astype(np.uint8) if len(union) <= 256 else flat.astype(np.uint16), union)
