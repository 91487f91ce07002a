"""Universal quantization: the error that the dither gives, and the lattice without it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.errors import CheckpointError
from cnet.quantize import QUANTIZERS
from cnet.reconstruction import Dither
from cnet.symbols import Symbols


def quantized(values: npt.NDArray[np.floating], **settings: object) -> Symbols:
    """The symbols of weights of which all are kept."""
    return QUANTIZERS.create("universal", **settings).symbols(values, np.ones(len(values), np.bool_), None)


def rms(values: npt.NDArray[np.floating]) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values.astype(np.float64) ** 2)))


WEIGHTS = {
    "two values": np.where(np.arange(100_000) % 3 == 0, 0.06, -0.05),
    "laplace": np.random.default_rng(0).laplace(size=100_000),
    "all equal": np.full(100_000, 0.3),
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("step", [0.1, 1.0, 3.0])
def test_error_is_uniform_whatever_the_weights(name: str, step: float) -> None:
    """Within half a step, mean 0, variance step^2 / 12, flat counts: within four standard deviations."""
    values = WEIGHTS[name]
    width, count = step * rms(values), len(values)
    error = quantized(values, step=step).vector() - values
    counts, _ = np.histogram(error, 25, (-width / 2, width / 2))
    expected = count / 25

    assert np.max(np.abs(error)) <= width / 2 * (1 + 1e-9)
    assert abs(np.mean(error)) < 4 * width / np.sqrt(12 * count)
    assert abs(np.var(error) * 12 / width**2 - 1) < 4 * np.sqrt(0.8 / count)
    assert np.sum((counts - expected) ** 2 / expected) < 24 + 4 * np.sqrt(2 * 24)


def test_error_is_independent_of_the_weight() -> None:
    """In each fifth of the weights the error has the same mean and variance, and neither goes with the weight."""
    values = WEIGHTS["laplace"]
    width = 2.0 * rms(values)
    error = quantized(values, step=2.0).vector() - values
    parts = np.array_split(error[np.argsort(values)], 5)

    for part in parts:
        assert abs(np.mean(part)) < 4 * width / np.sqrt(12 * len(part))
        assert abs(np.var(part) * 12 / width**2 - 1) < 4 * np.sqrt(0.8 / len(part))
    for power in (error, error**2):
        assert abs(np.corrcoef(values, power)[0, 1]) < 4 / np.sqrt(len(values))


def test_without_dither_the_error_depends_on_the_weight() -> None:
    """What the dither is for: equal weights have one error, and it is not 0."""
    values = np.concatenate([np.full(500, 1.0), np.full(500, 1.3)])
    error = quantized(values, step=0.5, dither=False).vector() - values

    assert len(np.unique(error)) == 2
    assert np.all(error != 0)


def test_dither_is_the_papers_formula() -> None:
    """It is step * round((w + v) / step) - v, v being uniform over the cell from 0 to the step."""
    values = np.random.default_rng(1).normal(size=5000)
    symbols = quantized(values, step=0.4, seed=9)
    assert isinstance(symbols.reconstruction, Dither)
    step = symbols.reconstruction.step
    shifted = symbols.reconstruction.values_at(np.arange(5000)) + step / 2

    expected = step * np.rint((values + shifted) / step) - shifted
    np.testing.assert_allclose(symbols.vector(), expected, atol=1e-12)
    assert step == pytest.approx(0.4 * rms(values))


def test_centroids_are_means_of_what_they_stand_for() -> None:
    """The weights with one label lie around its centroid, dither included: training starts where it should."""
    values = np.random.default_rng(2).uniform(-1, 1, 200_000)
    symbols = quantized(values, step=0.5)
    assert symbols.labels is not None
    means = [np.mean(values[symbols.labels == label]) for label in range(1, len(symbols.centroids) - 1)]

    np.testing.assert_allclose(means, symbols.centroids[1:-1], atol=0.01)


def test_lattice_without_dither_is_the_multiples_of_the_step() -> None:
    """Each weight at the nearest one; those at 0 are pruned, and no place does anything."""
    values = np.random.default_rng(3).normal(size=4000).astype(np.float32)
    symbols = quantized(values, step=0.7, dither=False)
    step = np.float32(0.35 * rms(values)) * np.float32(2)

    assert symbols.reconstruction is None
    np.testing.assert_allclose(symbols.vector(), np.rint(values / step) * step, rtol=1e-6)
    assert 0 < symbols.sparsity == np.mean(symbols.vector() == 0)


def test_pruned_weights_stay_zero_and_the_dither_is_that_of_the_place() -> None:
    """What one weight decodes to does not depend on which others are kept, the step being equal."""
    values = np.where(np.arange(1000) % 2, 0.5, -0.5)
    keep = np.arange(1000) % 5 > 1
    some = QUANTIZERS.create("universal").symbols(values, keep, None).vector()

    assert not some[~keep].any()
    np.testing.assert_array_equal(some[keep], quantized(values).vector()[keep])


def test_the_seed_determines_the_weights() -> None:
    """The same seed gives the same weights, another seed others."""
    values = np.random.default_rng(4).normal(size=300).astype(np.float32)

    np.testing.assert_array_equal(quantized(values, seed=1).vector(), quantized(values, seed=1).vector())
    assert not np.array_equal(quantized(values, seed=1).vector(), quantized(values, seed=2).vector())


@given(
    st.lists(st.floats(-1, 1, width=32), max_size=40),
    st.sampled_from([1e-44, 1e-38, 1.0, 3.4e38]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1e-4, 0.25, 100.0]),
    st.booleans(),
)
def test_any_values_give_valid_symbols(
    numbers: list[float], scale: float, dtype: type, step: float, dither: bool
) -> None:
    """Finite, ascending, distinct centroids, each in use, and finite weights, at any scale."""
    values = (np.array(numbers) * scale).astype(dtype)
    symbols = quantized(values, step=step, dither=dither)

    assert symbols.labels is not None
    assert symbols.labels.dtype == (np.uint8 if len(symbols.centroids) <= 256 else np.uint16)
    assert symbols.vector().dtype == symbols.centroids.dtype == dtype
    assert np.all(np.isfinite(symbols.centroids))
    assert np.all(np.isfinite(symbols.vector()))
    assert np.all(symbols.centroids[1:] > symbols.centroids[:-1])
    assert np.array_equal(np.unique(symbols.labels), np.arange(len(symbols.centroids)))
    assert len(symbols.labels) == np.count_nonzero(symbols.keep)


def test_values_that_are_not_finite_are_refused() -> None:
    """The error names what is wrong."""
    with pytest.raises(CheckpointError):
        quantized(np.float32([1, np.inf]))


def test_values_without_positions_take_the_nearest_non_zero_lattice_point() -> None:
    """0 is not used, since the mask encodes zeros."""
    values = np.float32([-2.6, -0.1, 0.1, 0.9, 1.2])
    codebook = QUANTIZERS.create("universal", step=1.0 / rms(values)).quantize(values, None)

    np.testing.assert_allclose(codebook.centroids[codebook.labels], [-3, -1, 1, 1, 1], rtol=1e-5)


@pytest.mark.parametrize("dither", [True, False])
def test_large_nets_are_as_exact_as_small_ones(dither: bool) -> None:
    """What is done a million weights at a time has its right place beyond the first million too."""
    values = np.random.default_rng(5).normal(size=2**20 + 9000).astype(np.float32)
    keep = np.arange(len(values)) % 7 > 2
    symbols = QUANTIZERS.create("universal", step=0.5, dither=dither).symbols(values, keep, None)
    width = 0.5 * rms(values[keep])

    assert np.max(np.abs(symbols.vector() - values)[keep]) <= width / 2 * (1 + 1e-5)
