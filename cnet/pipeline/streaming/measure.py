"""Sparsity, error and entropy of a bundle, measured on what is read back from it chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import release_pages, slices
from cnet.bundle import Bundle
from cnet.pipeline.point_metrics import check_decoded
from cnet.pipeline.streaming.stored_labels import StoredSymbols
from cnet.pipeline.streaming.symbols import StreamedSymbols
from cnet.pipeline.streaming.vector import Float32
from cnet.results.histogram import HistogramSample
from cnet.results.measures import WeightCounts
from cnet.symbols import Symbols
from cnet.weights import Weights


@dataclass(eq=False)
class Tally:
    """Counts over some weights.

    Attributes:
        clusters: number of centroids; None where values are stored as they are.
        expected: how many weights will be counted.
        weights: how many weights are counted.
        unpruned: how many are not zero after pruning.
        kept: how many are not zero after quantizing either.
        squares: sum of the squared errors.
        energy: sum of the squares of the original weights.
        populations: shape (clusters,), int64: how often each label occurs.
        sample: of the weights, for their histogram.
    """

    clusters: int | None
    expected: int
    weights: int = 0
    unpruned: int = 0
    kept: int = 0
    squares: float = 0.0
    energy: float = 0.0
    populations: npt.NDArray[np.int64] = field(init=False)
    sample: HistogramSample = field(init=False)

    def __post_init__(self) -> None:
        self.sample = HistogramSample(self.expected)
        self.populations = np.zeros(self.clusters or 0, np.int64)

    def add(self, original: Float32, decoded: npt.NDArray[np.floating], symbols: Symbols) -> None:
        """Count some more weights.

        Args:
            original: before pruning, shape (m,), float32.
            decoded: from the bundle, shape (m,), floating point.
            symbols: of these weights.
        """
        self.sample.add(original, decoded)
        self.weights += len(original)
        self.unpruned += int(np.count_nonzero(symbols.keep & (original != 0)))
        self.kept += int(np.count_nonzero(decoded))
        self.squares += float(np.sum((decoded.astype(np.float64) - original.astype(np.float64)) ** 2))
        self.energy += float(np.sum(np.square(original, dtype=np.float64)))
        if symbols.labels is not None:
            self.populations += np.bincount(symbols.labels, minlength=len(self.populations))

    def counts(self) -> WeightCounts:
        """The counts that metrics are computed from."""
        populations = None if self.clusters is None else self.populations
        return WeightCounts(self.weights, self.kept, self.weights, self.squares, populations, self.energy)


def measure_bundle(bundle: Bundle, symbols: StreamedSymbols | StoredSymbols) -> tuple[Tally, dict[str, Tally]]:
    """The whole network and each of its compressible tensors as they are read from ``bundle``.

    Raises:
        BundleError: the bundle does not decode to ``symbols``, bit for bit.
    """
    vector, clusters = symbols.pruned.vector, symbols.clusters
    places = dict(vector.weights.slices())
    total = Tally(clusters, sum(place.stop - place.start for place in places.values()))
    layers = {name: Tally(clusters, place.stop - place.start) for name, place in places.items()}
    rows = zip(vector.read(_tensor_slices(vector.weights)), symbols.read(_tensor_slices(vector.weights)), strict=True)
    first = 0
    for name, layer in layers.items():
        dtype, _ = bundle.described(name)
        for chunk in bundle.chunks(name):
            original, part = next(rows)
            expected = replace(part, reconstruction=symbols.reconstruction).vector(first)
            first += len(chunk)
            check_decoded(name, chunk, dtypes.narrow(expected, dtype))
            decoded = np.asarray(dtypes.widen(chunk, dtype), np.float32)
            for tally in (total, layer):
                tally.add(original, decoded, part)
    return total, layers


def _tensor_slices(weights: Weights) -> Iterator[slice]:
    """The slices of w_net that ``Bundle.chunks`` reads: each tensor by itself, in chunks."""
    for _, place in weights.slices():
        yield from slices(place.stop - place.start, start=place.start)


def check_other_tensors(bundle: Bundle, symbols: StreamedSymbols | StoredSymbols) -> None:
    """Check that all tensors that are not compressible come back from ``bundle``, bit for bit.

    Raises:
        BundleError: one does not.
    """
    weights = symbols.pruned.weights
    for tensor in weights:
        if weights.copies.get(tensor.name, tensor.name) in weights.compressible:
            continue
        flat, start = tensor.data.reshape(-1), 0
        for chunk in bundle.chunks(tensor.name):
            check_decoded(tensor.name, chunk, flat[start : start + len(chunk)])
            start += len(chunk)
            release_pages(tensor.data)
