"""Histograms of weights before and after compression, counted on a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cnet.results.metrics import Metric, declare

BINS = 64
SAMPLE = 2**16
"""Most weights that are counted. They are evenly spaced, so that their histogram has the shape of all."""

_SPREAD = 4.0  # ends of the range, in root mean squares of the original weights
_SMALLEST_END = 1e-300  # below it, the widths of the bins would underflow

Vector = npt.NDArray[np.floating]


def _histogram(description: str) -> Any:
    return declare(Metric("", description, "network", lambda m: m))


@dataclass(frozen=True)
class WeightHistogram:
    """Histogram of the weights before and after compression, counted on up to 65,536 evenly spaced weights.

    Weights beyond the ends of the range count in the first and in the last bin.
    """

    low: float = field(metadata=_histogram("Lower end of the first bin; bins have equal widths."))
    high: float = field(metadata=_histogram("Upper end of the last bin."))
    original: tuple[int, ...] = field(metadata=_histogram("Weights in each bin before compression, zeros left out."))
    decoded: tuple[int, ...] = field(metadata=_histogram("Weights in each bin after decoding, zeros left out."))
    original_zeros: int = field(metadata=_histogram("Weights that are zero before compression."))
    decoded_zeros: int = field(metadata=_histogram("Weights that are zero after decoding."))

    def to_json(self) -> dict[str, Any]:
        """Its JSON form."""
        return {**vars(self), "original": list(self.original), "decoded": list(self.decoded)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Self | None:
        """The inverse of ``to_json``; None for None."""
        if document is None:
            return None
        own: dict[str, Any] = {each.name: document[each.name] for each in fields(cls)}
        return cls(**{**own, "original": tuple(own["original"]), "decoded": tuple(own["decoded"])})


class HistogramSample:
    """A sample of weights that arrive in chunks, of which a histogram is made.

    Args:
        weights: how many will arrive.
    """

    def __init__(self, weights: int) -> None:
        self._step = max(1, math.ceil(weights / SAMPLE))
        self._seen = 0
        self._original: list[Vector] = []
        self._decoded: list[Vector] = []

    def add(self, original: Vector, decoded: Vector) -> None:
        """Take the sample's share of some weights.

        Args:
            original: before compression, shape (n,).
            decoded: the same weights as decoded, shape (n,).
        """
        part = slice(-self._seen % self._step, None, self._step)
        self._seen += len(original)
        self._original.append(original[part].astype(np.float64))  # bins of the largest floats overflow float32
        self._decoded.append(decoded[part].astype(np.float64))

    def histogram(self) -> WeightHistogram | None:
        """The histogram of the sample; None where all weights are zero or next to it, or there are none."""
        original, decoded = (np.concatenate(parts or [np.zeros(0)]) for parts in (self._original, self._decoded))
        end = float(f"{_SPREAD * _root_mean_square(original):.6g}")
        if end < _SMALLEST_END or not math.isfinite(end):
            return None
        return WeightHistogram(
            low=-end,
            high=end,
            original=_counts(original, end),
            decoded=_counts(decoded, end),
            original_zeros=int(np.count_nonzero(original == 0)),
            decoded_zeros=int(np.count_nonzero(decoded == 0)),
        )


def _root_mean_square(values: Vector) -> float:
    """The root of the mean square, without squares that overflow or underflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest * float(np.sqrt(np.mean(np.square(values / largest)))) if largest else 0.0


def _counts(values: Vector, end: float) -> tuple[int, ...]:
    """How many of the values that are not zero lie in each bin from ``-end`` to ``end``."""
    found, _ = np.histogram(np.clip(values[values != 0], -end, end), BINS, (-end, end))
    return tuple(int(count) for count in found)
