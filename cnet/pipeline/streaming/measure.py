"""What a bundle is worth, measured on what is read back from it, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cnet import dtypes, measures
from cnet.arrays import release_pages, slices
from cnet.bundle import Bundle
from cnet.errors import BundleError
from cnet.pipeline.streaming.symbols import StreamedSymbols
from cnet.pipeline.streaming.vector import Float32
from cnet.points import LayerResult
from cnet.symbols import Symbols


@dataclass(eq=False)
class Tally:
    """Counts over some weights.

    Attributes:
        clusters: number of centroids; None where values are kept as they are.
        weights: all of them.
        unpruned: those that are left after pruning.
        kept: those that are not zero after quantizing either.
        squares: sum of squared errors.
        populations: how often each label occurs.
    """

    clusters: int | None
    weights: int = 0
    unpruned: int = 0
    kept: int = 0
    squares: float = 0.0
    populations: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.populations = np.zeros(self.clusters or 0, np.int64)

    def add(self, original: Float32, decoded: npt.NDArray[np.floating], symbols: Symbols) -> None:
        """Count some more."""
        self.weights += len(original)
        self.unpruned += int(np.count_nonzero(symbols.keep & (original != 0)))
        self.kept += int(np.count_nonzero(decoded))
        self.squares += float(np.sum((decoded.astype(np.float64) - original.astype(np.float64)) ** 2))
        if symbols.labels is not None:
            self.populations += np.bincount(symbols.labels, minlength=len(self.populations))

    @property
    def sparsity(self) -> float:
        """Zeros / weights; 0 where there are none."""
        return (self.weights - self.kept) / self.weights if self.weights else 0.0

    @property
    def mse(self) -> float:
        """Mean squared error; 0 where there are no weights."""
        return self.squares / self.weights if self.weights else 0.0

    @property
    def entropy(self) -> float | None:
        """Bits a label; None where there are none."""
        return None if self.clusters is None else measures.entropy(self.populations)


def measured(bundle: Bundle, symbols: StreamedSymbols) -> tuple[Tally, dict[str, Tally]]:
    """The net and each of its layers as they are read from ``bundle``, which must hold ``symbols``.

    Raises:
        BundleError: it decodes to something else.
    """
    vector = symbols.kept.vector
    clusters = symbols.clusters
    net, layers = Tally(clusters), {name: Tally(clusters) for name in vector.weights.compressible}
    rows = zip(vector.parts(_cuts(vector.weights.slices())), symbols.parts(_cuts(vector.weights.slices())), strict=True)
    for name, layer in layers.items():
        dtype, _ = bundle.described(name)
        for piece in bundle.pieces(name):
            original, part = next(rows)
            if not _same(piece, dtypes.narrow(part.vector(), dtype)):
                raise BundleError("the bundle does not decode to what was put into it")
            decoded = np.asarray(dtypes.widen(piece, dtype), np.float32)
            for tally in (net, layer):
                tally.add(original, decoded, part)
    return net, layers


def _cuts(tensors: Iterator[tuple[str, slice]]) -> Iterator[slice]:
    """Pieces of each tensor."""
    for _, part in tensors:
        yield from slices(part.stop - part.start, start=part.start)  # as Bundle.pieces has it


def _same(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    return one.dtype == other.dtype and bool(np.array_equal(one.view(np.uint8), other.view(np.uint8)))


def layer_result(name: str, shape: Sequence[int], layer: Tally) -> LayerResult:
    """A layer's counts as a point's numbers."""
    return LayerResult(
        name=name,
        shape=tuple(shape),
        parameters=layer.weights,
        kept=layer.kept,
        sparsity=layer.sparsity,
        mse=layer.mse,
        clusters=None if layer.clusters is None else int(np.count_nonzero(layer.populations)),
        label_entropy=layer.entropy,
    )


def check_others(bundle: Bundle, symbols: StreamedSymbols) -> None:
    """Whether all tensors that are not compressible come back; not looked at where they are rounded.

    Raises:
        BundleError: one does not.
    """
    weights = symbols.kept.vector.weights
    for tensor in weights:
        if weights.copies.get(tensor.name, tensor.name) in weights.compressible:
            continue
        flat, start = tensor.data.reshape(-1), 0
        for piece in bundle.pieces(tensor.name):
            if not _same(piece, flat[start : start + len(piece)]):
                raise BundleError("the bundle does not decode to what was put into it")
            start += len(piece)
            release_pages(tensor.data)
