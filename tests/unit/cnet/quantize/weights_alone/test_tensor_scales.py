"""Scales of tensors from parts: those of the kept weights that are not zero, at any magnitude."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.errors import CheckpointError
from cnet.quantize.grid_labels import WeightsInMemory
from cnet.quantize.weights_alone.tensor_scales import TensorScale, measure_scales


def test_scales_are_those_of_the_weights() -> None:
    """Across the bounds of chunks; zeros and pruned weights do not count."""
    rng = np.random.default_rng(0)
    vector = rng.normal(size=2**20 + 300).astype(np.float32)
    vector[::7] = 0
    keep = rng.random(vector.size) < 0.5
    first, second = measure_scales(WeightsInMemory(vector, keep), [(2**20 + 100,), (20, 10)])

    for scale, part in ((first, slice(0, 2**20 + 100)), (second, slice(2**20 + 100, None))):
        kept = vector[part][keep[part] & (vector[part] != 0)].astype(np.float64)
        assert scale.rms == pytest.approx(np.sqrt(np.mean(kept**2)), rel=1e-12)
        assert scale.largest == np.max(np.abs(kept))
    assert second.size == 200


@pytest.mark.parametrize("scale", [1e-320, 1e-160, 1e160, 1e300])
def test_squares_neither_overflow_nor_vanish(scale: float) -> None:
    """Of float64 weights whose squares no float64 can hold."""
    vector = np.array([3.0, -4.0, 0.0]) * scale
    (found,) = measure_scales(WeightsInMemory(vector, vector != 0), [(3,)])

    assert found.rms == pytest.approx(np.sqrt(12.5) * scale, rel=1e-3)


def test_a_tensor_of_zeros_has_no_scale() -> None:
    """Nor has one without weights."""
    zeros = WeightsInMemory(np.zeros(6, np.float32), np.ones(6, np.bool_))

    assert measure_scales(zeros, [(2, 3)]) == [TensorScale((2, 3), 0.0)]
    assert measure_scales(WeightsInMemory(np.empty(0, np.float32), np.empty(0, np.bool_)), []) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(value: float) -> None:
    """With what to do."""
    vector = np.array([1.0, value], np.float32)

    with pytest.raises(CheckpointError, match="Save the checkpoint from before"):
        measure_scales(WeightsInMemory(vector, vector != 0), [(2,)])


def test_rows_of_units_have_factors() -> None:
    """Of the last tensor, and of a matrix of few rows before it; all else is that of the weights behind the factors."""
    shapes = [(40, 20), (4, 30), (20, 3, 3), (3, 30)]
    rng = np.random.default_rng(0)
    tensors = [rng.normal(size=shape) for shape in shapes]
    units = [10.0 ** -(np.arange(len(each)) % 3).reshape(-1, *[1] * (each.ndim - 1)) for each in tensors]
    vector = np.concatenate([(each * unit).reshape(-1) for each, unit in zip(tensors, units, strict=True)])
    found = measure_scales(WeightsInMemory(vector, np.ones(len(vector), np.bool_)), shapes)

    assert [len(scale.rows) for scale in found] == [0, 4, 0, 3]
    values = tensors[3] * units[3] / np.array(found[3].rows)[:, None]
    assert found[3].rms == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-9)
    assert found[3].largest == pytest.approx(np.max(np.abs(values)), rel=1e-9)
