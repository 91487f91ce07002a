"""Random symbols of networks of any shapes, and their comparison."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from cnet.coding import trellis
from cnet.coding.segments import segments_of
from cnet.symbols import Symbols

CLUSTERS = st.sampled_from([1, 2, 3, 16, 17, 256, 257, 4000, 65536])

Shapes = list[tuple[int, ...]]


def tensor_shapes() -> st.SearchStrategy[Shapes]:
    """Up to four tensors of nought to five dimensions, empty ones too."""
    return st.lists(st.lists(st.integers(0, 7), max_size=5).map(tuple), max_size=4)


def random_symbols(shapes: Shapes, clusters: int, density: float, seed: int, scale: float = 1.0) -> Symbols:
    """Symbols with random mask and labels; fewer centroids where there are fewer non-zeros."""
    rng = np.random.default_rng(seed)
    keep = rng.random(sum(map(math.prod, shapes))) < density
    count = min(clusters, int(np.count_nonzero(keep)))
    centroids = np.unique((rng.standard_normal(count) * scale).astype(np.float32))
    labels = rng.integers(0, max(1, len(centroids)), int(np.count_nonzero(keep)))
    return Symbols(keep, labels.astype(np.uint8 if len(centroids) <= 256 else np.uint16), centroids)


def trellis_symbols(shapes: Shapes, memory: int) -> Symbols:
    """Symbols on a grid, each lane a random path through the trellis."""
    rng = np.random.default_rng(memory)
    multiples = []
    for segment in segments_of(shapes):
        for block in segment.blocks:
            length = trellis.lane_length(block.positions)
            steps = rng.geometric(0.5, (-(-block.size // length), length)).astype(np.int32) - 1
            magnitudes = trellis.path_multiples(steps, memory).reshape(-1)[: block.size]
            multiples.append(np.where(rng.random(block.size) < 0.5, -magnitudes, magnitudes))
    flat = np.concatenate(multiples)
    used, labels = np.unique(flat[flat != 0], return_inverse=True)
    return Symbols(flat != 0, labels.astype(np.uint8), used.astype(np.float32) * np.float32(0.01))


def assert_equal(actual: Symbols, expected: Symbols) -> None:
    """Bit for bit the same symbols."""
    np.testing.assert_array_equal(actual.keep, expected.keep)
    assert actual.centroids.dtype == expected.centroids.dtype
    assert actual.centroids.tobytes() == expected.centroids.tobytes()
    assert (actual.labels is None) == (expected.labels is None)
    if expected.labels is not None and actual.labels is not None:
        assert actual.labels.dtype == expected.labels.dtype
        np.testing.assert_array_equal(actual.labels, expected.labels)
