"""One codebook for the whole net, or one for each layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.errors import SpecError
from cnet.quantize._base import Curvature, Quantizer
from cnet.symbols import Symbols

_MOST = 2**16

Floats = npt.NDArray[np.floating]
Shapes = Sequence[tuple[int, ...]]


class Layered(Quantizer):
    """A quantizer that can treat each layer by itself.

    The centroids of all layers together are the net's centroids, so that a layer's labels are a few of many; the
    encoder ``compact`` sees that and does not pay for it.
    """

    scope: str

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),
        curvature: Curvature | None = None,  # noqa: ARG002 - for quantizers that need it
    ) -> Symbols:
        """The symbols of w_net.

        Raises:
            SpecError: the layers have more than 65,536 centroids together.
        """
        return self.scoped(
            shapes, vector.dtype, lambda part, own: self.one_codebook(vector[part], keep[part], clusters, own)
        )

    def scoped(self, shapes: Shapes, dtype: np.dtype[np.floating], one: Callable[[slice, Shapes], Symbols]) -> Symbols:
        """The symbols of w_net, a codebook for all of it or for each layer.

        Args:
            shapes: of the layers, in order of w_net; none stands for one vector.
            dtype: of w_net.
            one: the symbols of a part of w_net that shares a codebook; takes the part and the shapes in it.

        Raises:
            SpecError: the layers have more than 65,536 centroids together.
        """
        if self.scope == "network" or not shapes:
            return one(slice(None), shapes)
        parts, start = [], 0
        for shape in shapes:
            part = slice(start, start + math.prod(shape))
            parts.append(one(part, [shape]))
            start = part.stop
        return _joined(parts, dtype)

    def one_codebook(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]],
    ) -> Symbols:
        """The symbols of weights that share a codebook; arguments as for ``symbols``."""
        return super().symbols(vector, keep, clusters, shapes)


class Scoped(Layered):
    """A quantizer with one codebook, or one for each layer."""

    scope: Literal["network", "layer"] = Field(
        default="network", description="One codebook for the whole net, or one for each layer."
    )


def _joined(parts: Sequence[Symbols], dtype: np.dtype[np.floating]) -> Symbols:
    union = np.unique(np.concatenate([np.empty(0, dtype), *(part.centroids for part in parts)]))
    if len(union) > _MOST:
        raise SpecError(f"the layers have {len(union)} centroids, more than {_MOST}: use fewer a layer, or one scope")
    labels = [np.empty(0, np.int64)]
    labels += [np.searchsorted(union, part.centroids)[part.labels] for part in parts if part.labels is not None]
    flat = np.concatenate(labels)
    keep = np.concatenate([np.empty(0, np.bool_), *(part.keep for part in parts)])
    return Symbols(keep, flat.astype(np.uint8) if len(union) <= 256 else flat.astype(np.uint16), union)
