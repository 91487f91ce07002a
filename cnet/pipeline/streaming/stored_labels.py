"""The symbols of a network that is not in memory, where labels were computed once and lie in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from cnet.arrays import slices
from cnet.coding.uniform_grid import narrow_labels
from cnet.equal_tensors import EqualTensor, copy_factors, find_equal_tensors
from cnet.pipeline.streaming.symbols import StreamedPruning
from cnet.quantize.grid_labels import TensorGrids
from cnet.reconstruction import AxisScales, Scales
from cnet.symbols import Symbols

Shorts = npt.NDArray[np.int16]

_INTEGERS = 2**16


@dataclass(frozen=True)
class MultiplesFile:
    """A file of an int16 for each weight of w_net, read and written piece by piece.

    Attributes:
        path: of the file.
    """

    path: Path

    @classmethod
    def written(cls, path: Path, chunks: Iterable[Shorts], on_weights: Callable[[int], None]) -> Self:
        """A new file of consecutive chunks, shape (m,) each; ``on_weights`` is told how many weights it has so far."""
        weights = 0
        with path.open("wb") as file:
            for chunk in chunks:
                file.write(np.ascontiguousarray(chunk, np.int16).data)
                weights += len(chunk)
                on_weights(weights)
        return cls(path)

    def read(self, part: slice) -> Shorts:
        """A slice: a new array, int16, shape (slice,)."""
        return np.fromfile(self.path, np.int16, part.stop - part.start, offset=2 * part.start)

    def copy(self, equal: EqualTensor, size: int) -> None:
        """Give an equal tensor the multiples of its source, ``size`` weights at a time."""
        multiples = np.memmap(self.path, np.int16, "r+")
        for part in slices(equal.part.stop - equal.part.start, size):
            source = equal.positions_in_source(np.arange(part.start, part.stop)) + equal.source.start
            start = equal.part.start
            multiples[start + part.start : start + part.stop] = multiples[source]
        multiples.flush()


@dataclass(frozen=True, eq=False)
class StoredSymbols:
    """Symbols (``cnet.symbols.SymbolSource``) that are multiples of a unit of each tensor or row, read from a file.

    Attributes:
        pruned: the pruned network.
        multiples: of each weight, 0 where it is not kept.
        label_of: the label of each multiple plus 2^15: uint8 or uint16, shape (2^16,).
        centroids: the multiples that occur, float32, shape (k,).
        reconstruction: the units; None where there are no weights.
    """

    pruned: StreamedPruning
    multiples: MultiplesFile
    label_of: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    centroids: npt.NDArray[np.floating]
    reconstruction: Scales | AxisScales | None

    @classmethod
    def of(cls, pruned: StreamedPruning, grids: TensorGrids, path: Path, on_fraction: Callable[[float], None]) -> Self:
        """The symbols that the quantizer gives a network in memory, bit for bit.

        Args:
            pruned: the pruned network.
            grids: what the quantizer makes of it.
            path: of the file, two bytes for each weight.
            on_fraction: is told how far it is, 0..1.
        """
        vector = pruned.vector
        multiples = MultiplesFile.written(path, grids.multiples, lambda done: on_fraction(done / len(vector)))
        copies = find_equal_tensors(vector.weights)
        for copy in copies:
            multiples.copy(copy, vector.chunk)
        used = np.zeros(_INTEGERS, np.bool_)
        for part in vector.chunk_slices():
            used[multiples.read(part).astype(np.int64) + _INTEGERS // 2] = True
        used[_INTEGERS // 2] = False
        distinct = np.flatnonzero(used)
        scales = grids.scales([vector.weights[name].shape for name in vector.weights.compressible])
        scales = scales and copy_factors(scales, copies)
        label_of = narrow_labels(np.cumsum(used) - 1, len(distinct))
        return cls(pruned, multiples, label_of, (distinct - _INTEGERS // 2).astype(np.float32), scales)

    @property
    def weights(self) -> int:
        """Length of w_net."""
        return len(self.pruned.vector)

    @property
    def clusters(self) -> int:
        """Number of centroids."""
        return len(self.centroids)

    def read(self, slices: Iterable[slice]) -> Iterator[Symbols]:
        """The symbols of slices that cover w_net from its start."""
        for part in slices:
            multiples = self.multiples.read(part)
            keep = multiples != 0
            labels = self.label_of[multiples[keep].astype(np.int64) + _INTEGERS // 2]
            yield Symbols(keep, labels, self.centroids)
