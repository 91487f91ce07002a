"""The quantizer ``auto``: the promised signal-to-noise ratio, small tensors finer, and bytes that pay for it."""

from __future__ import annotations

from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS, trellis
from cnet.coding.segments import segments_of
from cnet.errors import CheckpointError
from cnet.quantize import QUANTIZERS
from cnet.quantize.auto import SNR_DB, Quality
from cnet.reconstruction import AxisScales, Scales
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

SHAPES = [(16, 3, 3, 3), (32, 16, 3, 3), (64, 512), (10, 64)]
PARTS = [slice(*ends) for ends in pairwise(accumulate([16 * 27, 32 * 144, 64 * 512, 640], initial=0))]


def vector(seed: int = 0) -> npt.NDArray[np.float32]:
    """Weights of tensors whose scales differ."""
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=part.stop - part.start) * 10.0**-place for place, part in enumerate(PARTS)]
    return np.concatenate(parts).astype(np.float32)


def with_units(values: npt.NDArray[np.float32], part: int, units: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The weights, of which the rows of one tensor are multiplied by these units in turn."""
    changed = values.copy()
    rows = changed[PARTS[part]].reshape(SHAPES[part][0], -1)
    rows *= np.resize(units, len(rows)).astype(np.float32)[:, None]
    return changed


def quantized(values: npt.NDArray[np.floating], quality: Quality = "safe") -> Symbols:
    """The symbols, no weight pruned."""
    return QUANTIZERS.create("auto", quality=quality).symbols(values, values != 0, None, SHAPES)


def noise_of_tensors(values: npt.NDArray[np.floating], decoded: npt.NDArray[np.floating]) -> list[float]:
    """Each tensor's squared error relative to its power."""
    error = decoded.astype(np.float64) - values
    return [float(np.sum(error[p] ** 2) / np.sum(values[p].astype(np.float64) ** 2)) for p in PARTS]


@pytest.mark.parametrize("quality", ["safe", "small", "smallest"])
def test_the_documented_signal_to_noise_ratio_holds(quality: Quality) -> None:
    """Averaged over the weights, within 1 dB."""
    values = vector()
    noise = noise_of_tensors(values, quantized(values, quality).vector())
    sizes = [part.stop - part.start for part in PARTS]

    assert -10 * np.log10(np.average(noise, weights=sizes)) == pytest.approx(SNR_DB[quality], abs=1)


def test_small_tensors_are_finer() -> None:
    """And the last tensor is never coarser than the average."""
    values = vector()
    stem, middle, largest, last = noise_of_tensors(values, quantized(values).vector())

    assert stem < middle < largest
    assert last < largest


def test_scales_of_tensors_do_not_matter() -> None:
    """A tensor times a power of two is quantized to the same labels."""
    values = vector()
    scaled = values.copy()
    scaled[PARTS[1]] *= 64
    one, other = quantized(values), quantized(scaled)

    np.testing.assert_array_equal(one.keep, other.keep)
    assert one.labels is not None
    assert other.labels is not None
    np.testing.assert_array_equal(one.labels, other.labels)


def test_lossless_is_bit_for_bit() -> None:
    """Negative zeros too."""
    values = vector()
    values[7] = -0.0
    symbols = quantized(values, "lossless")

    assert symbols.labels is None
    assert symbols.vector().tobytes() == values.tobytes()


def test_labels_follow_a_trellis_in_each_tensor() -> None:
    """So that the encoder stores its steps."""
    symbols = quantized(vector())
    assert isinstance(symbols.reconstruction, Scales)
    multiples = np.zeros(len(symbols.keep), np.int32)
    multiples[symbols.keep] = np.abs(symbols.centroids[symbols.labels])

    block = segments_of(SHAPES[1:2])[0].blocks[0]
    length = trellis.lane_length(block.positions)
    lanes = np.pad(multiples[PARTS[1]], (0, -block.size % length)).reshape(-1, length)
    assert trellis.path_steps(lanes, 3) is not None


def test_a_row_of_errors_sums_to_about_nothing() -> None:
    """Errors of one row cancel where its inputs are alike: an eighth of what independent errors leave."""
    values = vector()
    error = (quantized(values, "small").vector().astype(np.float64) - values)[PARTS[2]].reshape(64, 512)

    assert np.mean(error.sum(axis=1) ** 2) < 0.125 * np.mean(np.sum(error**2, axis=1))


def test_pruned_weights_stay_zero() -> None:
    """And nothing else is made of them."""
    values = vector()
    values[::3] = 0
    symbols = quantized(values)

    assert not symbols.keep[::3].any()


def test_bytes_decode() -> None:
    """Under the encoder compact, a third of the bits of float32 at most."""
    values = vector()
    symbols = quantized(values)
    streams, header = ENCODERS.create("compact").encode(symbols, SHAPES)

    decoded = ENCODERS.create("compact").decode(streams, header, SHAPES)
    np.testing.assert_array_equal(decoded.keep, symbols.keep)
    np.testing.assert_array_equal(decoded.labels, symbols.labels)
    assert sum(len(stream) for stream in streams.values()) < values.nbytes / 3


@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e38])
def test_extreme_scales(scale: float) -> None:
    """Weights at the ends of float32 decode to finite numbers."""
    values = np.clip(vector(), -3, 3) * np.float32(scale)

    assert np.all(np.isfinite(quantized(values).vector()))


def test_nothing_to_quantize() -> None:
    """Empty tensors and zeros alone."""
    quantizer = QUANTIZERS.create("auto")
    empty, zeros = np.empty(0, np.float32), np.zeros(6, np.float32)

    assert quantizer.symbols(empty, empty != 0, None, [(0, 3)]).weights == 0
    assert not quantizer.symbols(zeros, zeros == 0, None, [(2, 3)]).keep.any()


def test_weights_that_are_not_finite_are_refused() -> None:
    """As by every quantizer."""
    values = vector()
    values[3] = np.nan

    with pytest.raises(CheckpointError, match="NaN"):
        quantized(values)


@pytest.mark.parametrize("quality", ["safe", "small", "smallest"])
@pytest.mark.parametrize("units", [[10.0, 0.01, 1.0], [1e5, 0.1], [1.0] * 9 + [0.05]])
def test_rows_of_the_last_tensor_keep_their_own_signal_to_noise_ratio(quality: Quality, units: list[float]) -> None:
    """Whatever their units: a price beside a probability."""
    values = with_units(vector(), 3, np.array(units))
    decoded = quantized(values, quality).vector()

    rows, error = (each[PARTS[3]].astype(np.float64).reshape(10, 64) for each in (values, decoded - values))
    found = 10 * np.log10(np.sum(rows**2, axis=1) / np.sum(error**2, axis=1))
    assert np.all(found > SNR_DB[quality] - 2)
    assert np.ptp(found) < 6


def test_rows_of_units_cost_what_rows_without_them_cost() -> None:
    """But for the factors, and a few bytes."""
    values = vector()
    sizes = []
    for vector_ in (values, with_units(values, 3, np.array([10.0, 0.01, 1.0]))):
        streams, _ = ENCODERS.create("compact").encode(quantized(vector_), SHAPES)
        sizes.append(sum(stream.nbytes for stream in streams.values()))

    assert sizes[1] < sizes[0] + 50


def test_rows_before_the_last_tensor_have_no_factors() -> None:
    """Nearly dead channels of a convolution, and rows of a large matrix, cost nothing; neither do rows of one scale."""
    for values in (
        vector(),
        with_units(vector(), 1, np.array([1.0, 1e-3])),
        with_units(vector(), 2, np.array([1, 0.01])),
    ):
        assert isinstance(quantized(values).reconstruction, Scales)


def test_factors_of_rows_leave_the_other_tensors_alone() -> None:
    """Each bit, at powers of two."""
    values = vector()
    plain, units = quantized(values).vector(), quantized(with_units(values, 3, np.array([1.0, 2.0**-9]))).vector()

    np.testing.assert_array_equal(plain[: PARTS[3].start], units[: PARTS[3].start])


def test_rows_of_units_come_back_from_a_bundle(tmp_path: Path) -> None:
    """Bit for bit."""
    values = with_units(vector(), 3, np.array([10.0, 0.01, 1.0]))
    tensors = [
        Tensor(f"t{n}", "float32", values[p].reshape(s)) for n, (p, s) in enumerate(zip(PARTS, SHAPES, strict=True))
    ]
    symbols = quantized(values, "small")
    write_bundle(tmp_path / "b.cnet", Weights.select(tensors), symbols, ENCODERS.create("compact"))
    bundle = open_bundle(tmp_path / "b.cnet")

    bundle.verify()
    assert isinstance(symbols.reconstruction, AxisScales)
    assert bundle.weights().vector().tobytes() == symbols.vector().tobytes()
