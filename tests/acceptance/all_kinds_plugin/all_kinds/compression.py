"""A transform, a pruner, a quantizer and an encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.coding import ENCODERS, Encoder, Streams
from cnet.prune import PRUNERS, Curvature, Pruner
from cnet.quantize import QUANTIZERS, Codebook, Quantizer
from cnet.symbols import Symbols
from cnet.transform import TRANSFORMS, Transform
from cnet.weights import Weights


@TRANSFORMS.register("same_form")
class SameForm(Transform):
    """Leaves the network as it is."""

    summary: ClassVar[str] = "Leaves the network as it is."
    source: ClassVar[str] = "a test"
    name: Literal["same_form"] = "same_form"

    def transformed(self, weights: Weights) -> Weights:
        """The weights that were given."""
        return weights


@PRUNERS.register("from_the_end")
class FromTheEnd(Pruner):
    """Prunes the first weights of w_net, whatever their values are."""

    summary: ClassVar[str] = "Prunes the first weights of the network."
    source: ClassVar[str] = "a test"
    name: Literal["from_the_end"] = "from_the_end"

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:  # noqa: ARG002
        """The position in w_net, shape (n,)."""
        return np.arange(weights.compressible_parameters, dtype=np.float64)


@QUANTIZERS.register("two_values")
class TwoValues(Quantizer):
    """Replaces each weight by one magnitude with the weight's sign."""

    summary: ClassVar[str] = "One magnitude with the weight's sign."
    source: ClassVar[str] = "a test"
    name: Literal["two_values"] = "two_values"
    magnitude: float = Field(default=0.25, gt=0.0, description="Magnitude of every weight.")

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:  # noqa: ARG002
        """Labels and centroids of ``values``, shape (n,)."""
        rounded = np.copysign(np.float32(self.magnitude), values).astype(np.float32)
        centroids, labels = np.unique(rounded, return_inverse=True)
        return Codebook(labels.astype(np.uint8), centroids)

    @property
    def trains_centroids(self) -> bool:
        """Never: the magnitude is the user's."""
        return False


@ENCODERS.register("plain_bytes")
class PlainBytes(Encoder):
    """One byte for each weight of the mask and for each label."""

    summary: ClassVar[str] = "One byte a weight."
    source: ClassVar[str] = "a test"
    name: Literal["plain_bytes"] = "plain_bytes"

    def encode(self, symbols: Symbols, shapes: list[tuple[int, ...]]) -> tuple[Streams, dict[str, Any]]:  # noqa: ARG002
        """Three arrays, and no header."""
        assert symbols.labels is not None
        return {"mask": symbols.keep.view(np.uint8), "labels": symbols.labels, "centroids": symbols.centroids}, {}

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:  # noqa: ARG002
        """The symbols."""
        assert len(streams["mask"]) == sum(map(math.prod, shapes))
        labels, centroids = streams["labels"].view(np.uint8), streams["centroids"].view(np.float32)
        return Symbols(streams["mask"].view(np.bool_), labels, centroids)
