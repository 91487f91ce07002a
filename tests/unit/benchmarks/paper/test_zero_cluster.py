"""Table 5 packs the same weights."""

from __future__ import annotations

import numpy as np

from benchmarks.paper import zero_cluster
from benchmarks.peers import npz
from cnet.symbols import Symbols


def test_zero_among_the_centroids_decodes_to_the_same_weights() -> None:
    """All entries get labels, and sizes are those of the parts."""
    rng = np.random.default_rng(0)
    keep = rng.random(500) < 0.5
    labels = rng.integers(0, 4, int(keep.sum())).astype(np.uint8)
    symbols = Symbols(keep, labels, np.array([-2, -1, 1, 2], np.float32))
    whole = zero_cluster.with_zero(symbols)
    assert whole.keep.all()
    assert whole.clusters == 5
    assert np.array_equal(whole.vector(), symbols.vector())
    sizes = zero_cluster.sizes(symbols, [(20, 25)])
    assert sizes["zero_npz"] == npz(whole.labels) + npz(whole.centroids)
    assert sizes["separate_npz"] == npz(np.packbits(keep)) + npz(labels) + npz(symbols.centroids)
    assert min(sizes["zero_compact"], sizes["separate_compact"]) > 0
