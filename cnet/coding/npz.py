"""The paper's encoding: the mask bit-packed, the labels and the centroids as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.coding.encoder import ENCODERS, Encoder, Streams
from cnet.coding.exact_values import narrow_exactly, restore_values
from cnet.errors import BundleError
from cnet.symbols import Symbols


@ENCODERS.register("npz")
class Npz(Encoder):
    """Mask, labels and centroids as three arrays that NumPy reads without this package.

    ``mask`` is ``numpy.packbits`` of the mask: C order, most significant bit first, unused last bits 0. ``labels``
    (uint8, or uint16 beyond 256 centroids) has one entry for each non-zero weight, ``centroids`` is float32 (float64
    where a float64 network needs it). Without a quantizer ``labels`` holds the non-zero weights themselves, in the
    smallest type that holds all of them exactly and that the header names as ``values``, and there are no
    ``centroids``.
    """

    name: Literal["npz"] = "npz"
    summary: ClassVar[str] = "Bit-packed mask, labels and centroids, deflated: readable with NumPy alone."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019), the encoding step"

    def encode(
        self,
        symbols: Symbols,
        shapes: list[tuple[int, ...]],  # noqa: ARG002 - this encoding is the same for all shapes
    ) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and ``centroids``; the header is empty, or ``{"values": type}``."""
        mask = np.packbits(symbols.keep)
        if symbols.labels is not None:
            return {"mask": mask, "labels": symbols.labels, "centroids": symbols.centroids}, {}
        name, values = narrow_exactly(symbols.centroids)
        return {"mask": mask, "labels": values}, {"values": name}

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:
        """The symbols. Raises BundleError where streams, header and shapes contradict each other."""
        weights = sum(math.prod(shape) for shape in shapes)
        expected = {"mask", "labels"} if header else {"mask", "labels", "centroids"}
        if set(streams) != expected:
            raise BundleError(
                f"bundle streams: there are {sorted(streams)}, not {sorted(expected)}. Write the bundle again."
            )
        if streams["mask"].dtype != np.uint8 or len(streams["mask"]) != -(-weights // 8):
            raise BundleError(f"bundle mask: it is not a mask of {weights} weights. Write the bundle again.")
        keep = np.unpackbits(streams["mask"].view(np.uint8), count=weights).astype(np.bool_)
        labels, kept = streams["labels"], int(np.count_nonzero(keep))
        if len(labels) != kept or not _unused_bits_are_zero(streams["mask"], weights):
            raise BundleError(
                f"bundle labels: {len(labels)} labels do not fit {kept} non-zeros in the mask. Write the bundle again."
            )
        if header:
            return Symbols(keep, None, restore_values(labels, header))
        return Symbols(keep, *_codebook(labels, streams["centroids"]))


def _unused_bits_are_zero(mask: npt.NDArray[np.generic], weights: int) -> bool:
    return weights % 8 == 0 or not int(mask[-1]) & (0xFF >> weights % 8)


def _codebook(
    labels: npt.NDArray[np.generic], centroids: npt.NDArray[np.generic]
) -> tuple[npt.NDArray[np.uint8] | npt.NDArray[np.uint16], npt.NDArray[np.floating]]:
    if labels.dtype not in (np.uint8, np.uint16) or centroids.dtype not in (np.float32, np.float64):
        types = f"{labels.dtype} labels, {centroids.dtype} centroids"
        raise BundleError(f"bundle codebook: its types are {types}, which no encoder writes. Write the bundle again.")
    index = labels.view(np.uint8) if labels.dtype == np.uint8 else labels.view(np.uint16)
    values = centroids.view(np.float32) if centroids.dtype == np.float32 else centroids.view(np.float64)
    if len(index) and int(np.max(index)) >= len(values):
        raise BundleError(
            f"bundle labels: a label is not below the number of centroids, {len(values)}. Write the bundle again."
        )
    if not np.all(np.isfinite(values)):
        raise BundleError("bundle centroids: some are NaN or infinite. Write the bundle again.")
    return index, values
