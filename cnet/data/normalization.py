"""Mean and standard deviation of inputs, by which a network's inputs are normalized."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import Array, Split

_CHUNK = 2**22  # elements that are looked at together
_MOST_COLUMNS = 1024  # that have a mean of their own
_SMALLEST_STD = 1e-6  # below it an input is constant, and stays as large as it is

Statistics = tuple[tuple[float, ...], tuple[float, ...]]
"""Means and standard deviations: one for each channel or column, or one for all values."""


def input_statistics(split: Split) -> dict[str, Statistics]:
    """Mean and standard deviation of each input that has numbers to scale: uint8 or floating-point ones.

    Values of uint8 are divided by 255 first, as training does. Numbers are rounded to six significant digits, so that
    the same ones are recorded and applied.

    Args:
        split: the training samples. Images, shape (n, channels, height, width), have a mean for each channel; tables,
            shape (n, columns), of at most 1024 columns one for each; any other input has a single one.
    """
    return {
        name: _statistics(values)
        for name, values in split.inputs.items()
        if values.dtype.kind == "f" or values.dtype == np.uint8
    }


def _statistics(values: Array) -> Statistics:
    axes = _averaged_axes(values.shape)
    count = np.prod([values.shape[axis] for axis in axes], dtype=np.float64)
    mean = sum(chunk.sum(axes) for chunk in _chunks(values)) / count
    centre = np.expand_dims(mean, tuple(axes))
    variance = sum(np.square(chunk - centre).sum(axes) for chunk in _chunks(values)) / count
    std = np.sqrt(variance)
    return _rounded(mean), _rounded(np.where(std < _SMALLEST_STD, 1.0, std))


def _averaged_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) == 4:
        return 0, 2, 3
    if len(shape) == 2 and shape[1] <= _MOST_COLUMNS:
        return (0,)
    return tuple(range(len(shape)))


def _chunks(values: Array) -> Iterator[npt.NDArray[np.float64]]:
    """Yield some samples at a time, scaled, shape (m, ...), float64."""
    rows = max(1, _CHUNK // max(1, values[:1].size))
    for start in range(0, len(values), rows):
        chunk = values[start : start + rows].astype(np.float64)
        yield chunk / 255 if values.dtype == np.uint8 else chunk


def _rounded(numbers: npt.NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(f"{number:.6g}") for number in np.atleast_1d(numbers))
