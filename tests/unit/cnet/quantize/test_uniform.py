"""Uniform quantizing: equally spaced values, the step of least error, and a scope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.errors import CheckpointError, SpecError
from cnet.quantize import QUANTIZERS
from cnet.reconstruction import Scales


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


def test_levels_are_numbers_of_centroids() -> None:
    """There is one point for each number of bits."""
    assert QUANTIZERS.create("uniform", bits=(8, 4)).cluster_counts() == (256, 16)


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


def test_values_that_are_not_finite_are_refused() -> None:
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


def unlike_channels() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Two layers of 40 rows each, whose scales are a thousand times apart."""
    rows = np.tile(np.geomspace(0.001, 1, 40), 2)
    return (np.random.default_rng(2).normal(size=(80, 50)) * rows[:, None]).astype(np.float32).reshape(-1)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_step_a_channel_beats_a_step_a_layer_where_channels_are_unlike(bits: int) -> None:
    """Squared error relative to each channel's size, and on the whole."""
    values, keep, shapes = unlike_channels(), np.ones(4000, np.bool_), [(40, 5, 10), (40, 50)]
    errors = {}
    for scope in ("network", "layer", "channel"):
        quantizer = QUANTIZERS.create("uniform", bits=(bits,), scope=scope)
        error = quantizer.symbols(values, keep, 2**bits, shapes).vector() - values
        power = np.sum(error.astype(np.float64).reshape(80, 50) ** 2, axis=1)
        errors[scope] = (np.max(power / np.sum(values.reshape(80, 50) ** 2, axis=1)), np.sum(power))

    assert errors["channel"][0] < 0.5 * errors["layer"][0]
    assert errors["channel"][1] < 0.5 * errors["layer"][1] <= 0.51 * errors["network"][1]


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_no_other_step_of_a_channel_has_clearly_less_error(bits: int) -> None:
    """A search over each channel's steps finds no more than two hundredths."""
    values = np.random.default_rng(5).laplace(size=(6, 4000)) * np.array([[1], [2], [1e-3], [50], [0.3], [9]])
    quantizer = QUANTIZERS.create("uniform", bits=(bits,), scope="channel")
    symbols = quantizer.symbols(values.reshape(-1), np.ones(24000, np.bool_), 2**bits, [(6, 4000)])
    error = np.mean((symbols.vector().reshape(6, -1) - values) ** 2, axis=1)
    most = 2 ** (bits - 1)

    for row, found in zip(values, error, strict=True):
        sizes, top = np.abs(row), np.max(np.abs(row))
        steps = np.geomspace(0.02, 1, 300) * top / most
        best = min(float(np.mean((sizes - step * np.clip(np.rint(sizes / step), 1, most)) ** 2)) for step in steps)
        assert found < 1.02 * best


def test_channels_share_whole_numbers() -> None:
    """8 bits of 1,000 channels have 256 centroids, not 256,000, which labels of 16 bits could not tell apart."""
    values = np.random.default_rng(6).normal(size=(1000, 300)) * np.geomspace(0.1, 10, 1000)[:, None]
    quantizer = QUANTIZERS.create("uniform", scope="channel")
    symbols = quantizer.symbols(values.astype(np.float32).reshape(-1), np.ones(300_000, np.bool_), 256, [(1000, 300)])

    assert isinstance(symbols.reconstruction, Scales)
    assert symbols.reconstruction.factors.shape == (1000,)
    assert symbols.centroids.tolist() == [*range(-128, 0), *range(1, 129)]


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=12, max_size=12),
    st.sampled_from([1e-44, 1e-38, 1.0, 3.4e38]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 8),
)
def test_any_channels_give_valid_symbols(numbers: list[float], scale: float, dtype: type, bits: int) -> None:
    """Empty, zero and tiny channels too: finite weights of the right sign, centroids in use, positive factors."""
    values = (np.array(numbers) * scale).astype(dtype)
    keep = np.arange(12) % 5 > 0
    quantizer = QUANTIZERS.create("uniform", bits=(bits,), scope="channel")
    symbols = quantizer.symbols(values, keep, 2**bits, [(3, 2), (), (0, 2), (1, 4), (1, 1)])

    assert isinstance(symbols.reconstruction, Scales)
    assert np.all(np.isfinite(symbols.reconstruction.factors) & (symbols.reconstruction.factors > 0))
    assert np.array_equal(np.unique(symbols.labels), np.arange(len(symbols.centroids)))
    assert np.all(np.isfinite(symbols.vector()))
    assert np.array_equal(np.sign(symbols.vector()), np.sign(np.where(keep, values, 0)))
