"""Quantizers whose labels depend on the position of a weight, and that still need not have all weights in memory.

Such a quantizer gives each tensor a unit, and each weight a multiple of its tensor's unit, one part of w_net after the
other. The caller keeps the multiples where it likes: in memory (``symbols_of``), or in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cnet.coding.uniform_grid import label_integers
from cnet.reconstruction import AxisScales, Scales, sides_of, tensor_sizes
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]
Shorts = npt.NDArray[np.int16]


class KeptWeights(Protocol):
    """w_net after pruning, read from its start as often as need be."""

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The element type of the weights."""

    def read(self, parts: Iterable[slice]) -> Iterator[tuple[Bools, Floats]]:
        """The mask, shape (slice,), and the kept weights, shape (kept,), of slices that cover w_net from its start."""


@dataclass(frozen=True, eq=False)
class WeightsInMemory:
    """``KeptWeights`` of a vector.

    Attributes:
        vector: w_net, float32 or float64, shape (n,).
        keep: the mask, bool, shape (n,).
    """

    vector: Floats
    keep: Bools

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """As in ``KeptWeights``."""
        return self.vector.dtype

    def read(self, parts: Iterable[slice]) -> Iterator[tuple[Bools, Floats]]:
        """As in ``KeptWeights``."""
        for part in parts:
            keep = self.keep[part]
            yield keep, self.vector[part][keep]


@dataclass(frozen=True, eq=False)
class TensorGrids:
    """The grids of a network's tensors, and the point of its tensor's grid that each weight becomes.

    Attributes:
        units: distance between the points of each tensor's grid, positive, of the type of the weights, shape
            (tensors that have weights,). They are final once all multiples have been read.
        multiples: of the unit, int16, for each weight in the order of w_net, part by part; 0 where not kept. To be
            read once.
        rows: factors of the rows of each tensor, by which its unit is multiplied, of as many tensors; none where they
            are all 1.
    """

    units: Floats
    multiples: Iterator[Shorts]
    rows: Sequence[tuple[float, ...]] = ()

    def scales(self, shapes: Sequence[tuple[int, ...]]) -> Scales | AxisScales | None:
        """The factors of the multiples in tensors of these shapes; None where there are no weights.

        To be asked for once all multiples have been read.
        """
        if not len(self.units):
            return None
        if not any(self.rows):
            return Scales(self.units, tensor_sizes(shapes))
        sides, factors = sides_of(shapes), []
        for unit, rows, (lines, columns, _) in zip(self.units, self.rows, sides.tolist(), strict=True):
            factors += [[unit], rows or np.ones(lines), np.ones(columns)]
        return AxisScales(np.concatenate(factors).astype(self.units.dtype), sides)


@runtime_checkable
class LabelsInOrder(Protocol):
    """A quantizer that labels weights part by part, in the order of w_net."""

    def grids(self, weights: KeptWeights, shapes: Sequence[tuple[int, ...]]) -> TensorGrids | None:
        """The grids of the tensors, and the weights' places on them.

        None where labels do not depend on positions under these settings: ``Quantizer.fit_chunks`` gives them.

        Args:
            weights: to be quantized.
            shapes: of the compressible tensors, in the order of w_net.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """


def symbols_of(quantizer: LabelsInOrder, weights: WeightsInMemory, shapes: Sequence[tuple[int, ...]]) -> Symbols:
    """The symbols of w_net in memory; arguments as for ``LabelsInOrder.grids``."""
    grids = quantizer.grids(weights, shapes)
    if grids is None:
        raise ValueError("quantizer: its labels do not depend on positions. Ask it for its codebook.")
    multiples = np.concatenate([np.empty(0, np.int16), *grids.multiples])
    labels, used = label_integers(multiples[multiples != 0])
    return Symbols(multiples != 0, labels, used.astype(weights.dtype), grids.scales(shapes))
