"""The paper's encoding: the mask bit-packed, the labels and the centroids as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.coding.encoder import ENCODERS, Encoder, Streams
from cnet.coding.exact_values import narrowed, widened
from cnet.errors import BundleError
from cnet.symbols import Symbols


@ENCODERS.register("npz")
class Npz(Encoder):
    """Mask, labels and centroids as three arrays that NumPy reads without this package.

    ``mask`` is ``numpy.packbits`` of what is kept: C order, most significant bit first, unused last bits 0.
    ``labels`` (uint8, or uint16 beyond 256 centroids) has one entry a kept weight, ``centroids`` is float32 (float64
    where a float64 net needs it). Without a quantizer ``labels`` holds the kept values themselves, in the smallest
    type that holds all of them exactly and that the header names as ``values``, and there are no ``centroids``.
    """

    name: Literal["npz"] = "npz"
    summary: ClassVar[str] = "Bit-packed mask, labels and centroids, deflated: readable with NumPy alone."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019), the encoding step"

    def encode(
        self,
        symbols: Symbols,
        shapes: list[tuple[int, ...]],  # noqa: ARG002 - this encoding does not care where rows lie
    ) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and ``centroids``; the header is empty, or ``{"values": dtype}``."""
        mask = np.packbits(symbols.keep)
        if symbols.labels is not None:
            return {"mask": mask, "labels": symbols.labels, "centroids": symbols.centroids}, {}
        name, values = narrowed(symbols.centroids)
        return {"mask": mask, "labels": values}, {"values": name}

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:
        """The symbols, checked against each other."""
        weights = sum(math.prod(shape) for shape in shapes)
        expected = {"mask", "labels"} if header else {"mask", "labels", "centroids"}
        if set(streams) != expected or streams["mask"].dtype != np.uint8 or len(streams["mask"]) != -(-weights // 8):
            raise BundleError("the bundle contradicts itself: its arrays are not those of its tensors")
        keep = np.unpackbits(streams["mask"].view(np.uint8), count=weights).astype(np.bool_)
        labels = streams["labels"]
        if len(labels) != np.count_nonzero(keep) or not _unused_bits_are_zero(streams["mask"], weights):
            raise BundleError("the bundle contradicts itself: mask and labels differ in length")
        if header:
            return Symbols(keep, None, widened(labels, header))
        return Symbols(keep, *_codebook(labels, streams["centroids"]))


def _unused_bits_are_zero(mask: npt.NDArray[np.generic], weights: int) -> bool:
    return weights % 8 == 0 or not int(mask[-1]) & (0xFF >> weights % 8)


def _codebook(
    labels: npt.NDArray[np.generic], centroids: npt.NDArray[np.generic]
) -> tuple[npt.NDArray[np.uint8] | npt.NDArray[np.uint16], npt.NDArray[np.floating]]:
    if labels.dtype not in (np.uint8, np.uint16) or centroids.dtype not in (np.float32, np.float64):
        raise BundleError("the bundle contradicts itself: labels or centroids are of a wrong type")
    index = labels.view(np.uint8) if labels.dtype == np.uint8 else labels.view(np.uint16)
    values = centroids.view(np.float32) if centroids.dtype == np.float32 else centroids.view(np.float64)
    if len(index) and int(np.max(index)) >= len(values):
        raise BundleError("the bundle contradicts itself: a label has no centroid")
    if not np.all(np.isfinite(values)):
        raise BundleError("the bundle holds centroids that are no numbers")
    return index, values
