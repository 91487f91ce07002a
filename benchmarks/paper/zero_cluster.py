"""Table 5: zero as one more cluster, compared with a separate mask, for the same network."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import npz
from cnet.coding import ENCODERS
from cnet.symbols import Symbols

Shapes = list[tuple[int, ...]]


def with_zero(symbols: Symbols) -> Symbols:
    """The same weights without a mask, with 0 as one of the centroids."""
    centroids = np.unique(np.append(symbols.centroids, symbols.centroids.dtype.type(0)))
    labels = np.searchsorted(centroids, symbols.vector())
    small = len(centroids) <= 256
    everything = np.ones(len(symbols.keep), np.bool_)
    return Symbols(everything, labels.astype(np.uint8) if small else labels.astype(np.uint16), centroids)


def sizes(symbols: Symbols, shapes: Shapes) -> dict[str, int]:
    """Bytes of both forms, each as the paper packs it (npz) and as the encoder ``compact`` encodes it."""
    whole = with_zero(symbols)
    assert np.array_equal(whole.vector(), symbols.vector())
    kept = [npz(part) for part in (symbols.labels, symbols.centroids) if part is not None]
    merged = [npz(part) for part in (whole.labels, whole.centroids) if part is not None]
    return {
        "separate_npz": npz(np.packbits(symbols.keep)) + sum(kept),
        "zero_npz": sum(merged),
        "separate_compact": _compact(symbols, shapes),
        "zero_compact": _compact(whole, shapes),
    }


def _compact(symbols: Symbols, shapes: Shapes) -> int:
    compact = ENCODERS.create("compact")
    streams, header = compact.encode(symbols, shapes)
    assert np.array_equal(compact.decode(streams, header, shapes).vector(), symbols.vector())
    return sum(len(stream) for stream in streams.values())
