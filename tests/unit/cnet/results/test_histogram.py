"""Histograms of weights before and after compression."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.results.histogram import BINS, SAMPLE, HistogramSample, WeightHistogram

RANDOM = np.random.default_rng(0)


def histogram_of(original: np.ndarray, decoded: np.ndarray, chunk: int = 10**9) -> WeightHistogram | None:
    """The histogram of weights that arrive in chunks of this length."""
    sample = HistogramSample(len(original))
    for start in range(0, len(original), chunk):
        sample.add(original[start : start + chunk], decoded[start : start + chunk])
    return sample.histogram()


def test_every_weight_is_counted() -> None:
    """In a bin, or as a zero; those beyond the ends in the last bins."""
    original = np.float32([-9, -1, 0, 1, 1, *np.zeros(95)])
    decoded = np.float32([-9, 0, 0, 1, 1, *np.zeros(95)])

    found = histogram_of(original, decoded)

    assert found is not None
    assert (found.original_zeros, found.decoded_zeros) == (96, 97)
    assert sum(found.original) == 4
    assert found.original[0] == found.decoded[0] == 1
    assert found.high == -found.low == pytest.approx(4 * np.sqrt(84 / 100), rel=1e-5)


def test_few_centroids_fill_few_bins() -> None:
    """The weights before spread over all of them."""
    original = RANDOM.normal(size=5000).astype(np.float32)
    decoded = np.where(original > 0, np.float32(0.7), np.float32(-0.7))

    found = histogram_of(original, decoded)

    assert found is not None
    assert sum(count > 0 for count in found.decoded) == 2
    assert sum(count > 0 for count in found.original) > BINS // 2


@pytest.mark.parametrize("scale", [np.float32(3e38), np.float32(1e-45), 1e300, 1e-295])
def test_weights_of_any_size_are_counted(scale: np.floating) -> None:
    """The ends of the range may lie beyond the numbers of the weights' own type."""
    original = np.asarray([1, -1, 1, 0], np.asarray(scale).dtype) * scale

    found = histogram_of(original, original)

    assert found is not None
    assert (sum(found.original), found.original_zeros) == (3, 1)


def test_weights_next_to_zero_have_no_histogram() -> None:
    """The widths of its bins would be zero."""
    assert histogram_of(np.full(4, 1e-310), np.full(4, 1e-310)) is None


@pytest.mark.parametrize("weights", [SAMPLE, SAMPLE + 1, 3 * SAMPLE, 10 * SAMPLE + 7])
def test_large_tensors_are_sampled_evenly(weights: int) -> None:
    """No more weights are counted than a sample has, and their shares are those of all."""
    original = RANDOM.normal(size=weights).astype(np.float32)

    found = histogram_of(original, original * (np.abs(original) > 1))

    assert found is not None
    assert SAMPLE // 2 <= sum(found.original) + found.original_zeros <= SAMPLE
    assert found.decoded_zeros / SAMPLE == pytest.approx(
        np.mean(np.abs(original) <= 1), abs=0.02 + 0.5 * (weights % SAMPLE != 0)
    )


@given(st.integers(1, 200_000), st.integers(100, 70_000))
def test_chunks_do_not_matter(weights: int, chunk: int) -> None:
    """The histogram is that of all weights at once."""
    original = np.arange(1, weights + 1, dtype=np.float32)

    assert histogram_of(original, original, chunk) == histogram_of(original, original)


@pytest.mark.parametrize("original", [np.zeros(10, np.float32), np.zeros(0, np.float32)])
def test_no_weights_have_no_histogram(original: np.ndarray) -> None:
    """Neither have weights that are all zero."""
    assert histogram_of(original, original) is None


def test_json_and_back() -> None:
    """The histogram is the same."""
    made = histogram_of(RANDOM.normal(size=100), RANDOM.normal(size=100))

    assert made is not None
    assert WeightHistogram.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert WeightHistogram.from_json(None) is None
