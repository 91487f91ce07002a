"""The choice of levels: they follow the magnitudes, and improving them shortens the code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.context_model import bucket_symbols
from cnet.coding.compact.fit_levels import improve_levels, initial_levels
from cnet.coding.compact.magnitude_levels import LEVELS, MagnitudeLevels
from cnet.coding.segments import segments_of

SEGMENT = segments_of([(30, 40), (20, 10, 3, 3)])[0]


def bits(levels: list[MagnitudeLevels], symbols: list[npt.NDArray[np.uint8]]) -> float:
    """Entropy of the symbols given their levels."""
    counts = np.zeros((LEVELS, 32))
    for level, part in zip(levels, symbols, strict=True):
        np.add.at(counts, (level.levels(), part), 1)
    totals = counts.sum(1, keepdims=True)
    return float(-np.sum(counts * np.log2(np.maximum(counts, 1) / np.maximum(totals, 1))))


def magnitudes() -> npt.NDArray[np.int32]:
    """Rows and columns of different scales."""
    rng = np.random.default_rng(0)
    first = rng.laplace(size=(30, 40)) * np.exp2(rng.normal(size=(30, 1))) * np.exp2(rng.normal(size=(1, 40)))
    second = 50 * rng.laplace(size=(20, 10, 9)) * np.exp2(rng.normal(size=(20, 1, 1)))
    return np.rint(np.abs(np.concatenate([2 * first.reshape(-1), second.reshape(-1)]))).astype(np.int32)


def test_initial_levels_follow_the_magnitudes() -> None:
    """Blocks of larger weights have a higher base, larger rows a higher offset."""
    given = magnitudes()
    first, second = initial_levels(SEGMENT.blocks, SEGMENT.split(given))
    rows = SEGMENT.split(given)[0].reshape(30, 40).mean(axis=1)

    assert second.base > first.base + 5
    assert first.offsets[0][np.argmax(rows)] > first.offsets[0][np.argmin(rows)]
    assert not np.any(initial_levels(SEGMENT.blocks, SEGMENT.split(given), kernels=False)[1].offsets[2])


def test_zeros_alone_have_one_level() -> None:
    """There is nothing to tell apart."""
    for level in initial_levels(SEGMENT.blocks, SEGMENT.split(np.zeros(SEGMENT.size, np.int32))):
        assert not any(np.any(offsets) for offsets in level.offsets)


def test_improving_levels_shortens_the_code() -> None:
    """By several per cent where the levels were all the same; never the other way."""
    parts = SEGMENT.split(magnitudes())
    symbols = [bucket_symbols(part) for part in parts]
    for levels, ratio in (
        ([MagnitudeLevels.uniform(block) for block in SEGMENT.blocks], 0.95),
        (initial_levels(SEGMENT.blocks, parts), 1.0),
    ):
        before = bits(levels, symbols)
        improve_levels(SEGMENT.blocks, levels, symbols)
        assert bits(levels, symbols) < ratio * before
