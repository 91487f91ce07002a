"""Uniform quantizing: equally spaced values, the step of least error, and a scope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.errors import CheckpointError, SpecError
from cnet.quantize import QUANTIZERS


@pytest.mark.parametrize("bits", range(1, 9))
def test_values_are_equally_spaced(bits: int) -> None:
    """At most 2^bits values, all odd or even multiples of one step, none of them 0."""
    values = np.random.default_rng(bits).normal(size=5000).astype(np.float32)
    codebook = QUANTIZERS.create("uniform", bits=(bits,)).quantize(values, None)
    multiples = codebook.centroids / np.min(np.abs(codebook.centroids))

    assert len(codebook.centroids) <= 2**bits
    np.testing.assert_allclose(multiples, np.rint(multiples), atol=1e-3)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_no_other_step_has_clearly_less_error(bits: int) -> None:
    """A search over steps finds none that is more than a hundredth better."""
    values = np.random.default_rng(0).laplace(size=20000)
    codebook = QUANTIZERS.create("uniform", bits=(bits,)).quantize(values, None)
    most = 2 ** (bits - 1)

    def mse(step: float) -> float:
        near = np.clip(np.rint(np.abs(values) / step), 1, most) * step
        return float(np.mean((np.abs(values) - near) ** 2))

    found = float(np.mean((codebook.centroids[codebook.labels] - values) ** 2))
    assert found < 1.01 * min(mse(step) for step in np.geomspace(0.001, 3, 400))


def test_levels_are_numbers_of_values() -> None:
    """One point for each number of bits."""
    assert QUANTIZERS.create("uniform", bits=(8, 4)).levels() == (256, 16)


@given(
    st.lists(st.floats(-1, 1, width=32).filter(bool), max_size=40),
    st.sampled_from([1e-37, 1.0, 3e38]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 8),
)
def test_any_values_give_a_valid_codebook(numbers: list[float], scale: float, dtype: type, bits: int) -> None:
    """Finite, ascending, distinct centroids, each in use, at any scale."""
    values = (np.array(numbers) * scale).astype(dtype)
    codebook = QUANTIZERS.create("uniform", bits=(bits,)).quantize(values, None)

    assert codebook.labels is not None
    assert np.all(np.isfinite(codebook.centroids))
    assert np.all(codebook.centroids[1:] > codebook.centroids[:-1])
    assert np.array_equal(np.unique(codebook.labels), np.arange(len(codebook.centroids)))


def test_values_that_are_no_numbers_are_refused() -> None:
    """The error names what is wrong."""
    with pytest.raises(CheckpointError):
        QUANTIZERS.create("uniform").quantize(np.float32([1, np.nan]), None)


@pytest.mark.parametrize("name", ["kmeans", "uniform"])
def test_each_layer_can_have_its_own_codebook(name: str) -> None:
    """With scope layer a small layer is as exact as if it were alone."""
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=600), rng.normal(size=400) / 1000]).astype(np.float32)
    quantizer = QUANTIZERS.create(name, scope="layer")
    symbols = quantizer.symbols(values, np.ones(1000, np.bool_), 16, [(20, 30), (400,)])
    alone = quantizer.quantize(values[600:], 16)

    np.testing.assert_array_equal(symbols.vector()[600:], alone.centroids[alone.labels])


def test_too_many_codebooks_are_refused() -> None:
    """The centroids of all layers together have labels of 16 bits."""
    values = np.arange(1, 70001, dtype=np.float32)
    shapes = [(35000,), (35000,)]
    with pytest.raises(SpecError):
        QUANTIZERS.create("kmeans", scope="layer").symbols(values, np.ones(70000, np.bool_), 40000, shapes)
