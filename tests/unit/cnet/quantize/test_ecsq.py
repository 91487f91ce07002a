"""Entropy-constrained quantizing: on a grid, cheaper at equal error than anything that does not look at bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.coding import ENCODERS
from cnet.coding.uniform_grid import find_grid
from cnet.errors import CheckpointError
from cnet.quantize import QUANTIZERS
from cnet.symbols import Symbols

SHAPES = [(96, 64, 3, 3), (64, 60)]
FIRST = slice(0, 96 * 64 * 9)


def vector(seed: int = 0) -> npt.NDArray[np.float32]:
    """Weights whose rows differ in size."""
    rng = np.random.default_rng(seed)
    parts = [rng.laplace(size=s) * np.exp(rng.normal(size=s[0])).reshape(-1, *[1] * (len(s) - 1)) for s in SHAPES]
    return np.concatenate([part.reshape(-1) for part in parts]).astype(np.float32) * np.float32(0.05)


def quantized(values: npt.NDArray[np.floating], **parameters: object) -> Symbols:
    """All weights kept."""
    return QUANTIZERS.create("ecsq", **parameters).symbols(values, np.ones(len(values), np.bool_), None, SHAPES)


def bytes_of(symbols: Symbols) -> int:
    """Size under the encoder compact."""
    streams, header = ENCODERS.create("compact").encode(symbols, SHAPES)
    decoded = ENCODERS.create("compact").decode(streams, header, SHAPES)
    np.testing.assert_array_equal(decoded.vector(), symbols.vector())
    return sum(len(stream) for stream in streams.values())


def error(symbols: Symbols, values: npt.NDArray[np.floating]) -> float:
    """Mean squared error."""
    return float(np.mean((symbols.vector().astype(np.float64) - values) ** 2))


def at_equal_error(symbols: Symbols, values: npt.NDArray[np.floating]) -> float:
    """Bytes, plus those that a step of error 1 would save: half a bit a weight for each factor of two."""
    return bytes_of(symbols) + 0.5 * float(np.log2(error(symbols, values))) * len(values) / 8


def test_a_plain_grid_without_a_price_is_rounding() -> None:
    """One state and mu 0: every weight takes the nearest multiple of the step."""
    values = vector()
    symbols = quantized(values, states=1, mu=0.0)
    grid = find_grid(symbols.centroids)

    assert grid is not None
    step = 0.25 * np.sqrt(np.mean(values.astype(np.float64) ** 2))
    np.testing.assert_array_equal(symbols.keep, np.rint(values / np.float32(step / 2) / 2) != 0)
    assert error(symbols, values) < 1.02 * step**2 / 12


@pytest.mark.parametrize("states", [4, 8, 16, 32, 64, 128])
def test_a_trellis_beats_a_plain_grid(states: int) -> None:
    """The bytes that it saves at equal error: at least a twentieth of a bit a weight."""
    values = vector()
    plain, trellis = quantized(values, step=0.1, states=1, mu=0.0), quantized(values, step=0.1, states=states, mu=0.0)

    assert at_equal_error(trellis, values) < at_equal_error(plain, values) - 0.05 * len(values) / 8


def test_a_price_saves_bytes_and_costs_little() -> None:
    """Labels that cost less are chosen where it hardly matters."""
    values = vector()
    free, priced = quantized(values, states=1, mu=0.0), quantized(values, states=1, mu=0.5)

    assert bytes_of(priced) < 0.99 * bytes_of(free)
    assert error(priced, values) < 1.1 * error(free, values)


def test_pruned_weights_stay_pruned() -> None:
    """Only weights that are kept get labels, and their signs are their own."""
    values = vector()
    keep = np.abs(values) > 0.1
    symbols = QUANTIZERS.create("ecsq").symbols(values, keep, None, SHAPES)

    assert not np.any(symbols.keep & ~keep)
    assert np.all(np.sign(symbols.vector()[symbols.keep]) == np.sign(values[symbols.keep]))


def test_layers_have_steps_of_their_own() -> None:
    """With scope layer, a layer a thousand times smaller is quantized as well as the others."""
    values = vector()
    values[FIRST] /= 1000
    layers, network = quantized(values, scope="layer"), quantized(values)
    power = np.mean(values[FIRST] ** 2)

    assert np.mean((layers.vector()[FIRST] - values[FIRST]) ** 2) < 0.01 * power
    assert np.mean((network.vector()[FIRST] - values[FIRST]) ** 2) > 0.5 * power
    assert bytes_of(layers) < len(values)


@given(
    st.lists(st.floats(-1, 1, width=32), max_size=40),
    st.sampled_from([1e-38, 1e-20, 1.0, 3e38]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1e-4, 0.3, 100.0]),
)
@settings(deadline=None)
def test_any_values_give_valid_symbols(numbers: list[float], scale: float, dtype: type, step: float) -> None:
    """Finite, ascending, distinct centroids of the weights' type, each in use, at any scale."""
    values = (np.array(numbers) * scale).astype(dtype)
    quantizer = QUANTIZERS.create("ecsq", step=step)
    symbols = quantizer.symbols(values, values != 0, None, [(len(values),)])

    assert symbols.labels is not None
    assert symbols.centroids.dtype == dtype
    assert np.all(np.isfinite(symbols.centroids))
    assert np.all(symbols.centroids[1:] > symbols.centroids[:-1])
    assert np.array_equal(np.unique(symbols.labels), np.arange(len(symbols.centroids)))
    assert len(symbols.labels) == np.count_nonzero(symbols.keep)


@pytest.mark.parametrize("step", [1.0, 5.0, 100.0])
@pytest.mark.parametrize("states", [1, 32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_weights_of_a_type_stay_numbers(dtype: type, states: int, step: float) -> None:
    """A point twice as far as the largest weight, as odd states of a trellis have it, would be infinite."""
    vector = np.array([0.9, -0.9, 0.45, 0.2] * 20, dtype) * np.finfo(dtype).max
    symbols = QUANTIZERS.create("ecsq", step=step, states=states, mu=0.0).symbols(vector, vector != 0, None)

    assert np.isfinite(symbols.centroids).all()
    assert (symbols.centroids[1:] > symbols.centroids[:-1]).all()


def test_the_same_weights_give_the_same_symbols() -> None:
    """No chance is involved."""
    one, other = quantized(vector()), quantized(vector())
    assert one.vector().tobytes() == other.vector().tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(bad: float) -> None:
    """The error names what is wrong."""
    values = vector()
    values[3] = bad
    with pytest.raises(CheckpointError) as raised:
        quantized(values)
    assert raised.value.code == "not_finite"


def test_values_without_positions_are_rounded() -> None:
    """The codebook of bare values keeps each of them away from zero."""
    values = vector()
    codebook = QUANTIZERS.create("ecsq").quantize(values, None)

    assert codebook.labels is not None
    assert not np.any(codebook.centroids[codebook.labels] == 0)
    assert np.max(np.abs(codebook.centroids[codebook.labels] - values)) < 0.26 * np.sqrt(np.mean(values**2))
