"""Labels along a trellis, where each column of a layer's weights is moved by the errors of the columns before it.

For a layer with inputs of second moments H, and U upper triangular with H^-1 = U^T U, columns are rounded in order.
Column j has the error e = (w_j - q_j) / U_jj, which adds e^2 to the layer's error whatever follows, and which later
columns make up for: w_k is lessened by e U_jk (optimal brain surgeon, Hassibi and Stork 1993; GPTQ, Frantar et al.
2022). What a path costs is the sum of e^2 + price * bits, with the bits that the encoder spends in the weight's context
(rate-constrained as in CERWU, Conzelmann and Bamler, arXiv 2505.18758). Errors depend on the path: each state of the
trellis therefore keeps those of the path that survives in it (per-survivor processing: Raheli, Polydoros and Tzou, IEEE
Trans. Commun. 43/2-4, 1995). All rows are searched side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from cnet.calibrate.second_moments import FeedbackFactors
from cnet.coding.rates import segments_of
from cnet.coding.trellis import branches_to, lane_length
from cnet.quantize.weights_alone.label_choice import LabelBits

LEAST_COLUMNS = 64
"""Columns from which on a matrix is searched: each row but the last of a lane has to end in the state in which the next
one begins, which costs narrow matrices more than feedback gains."""

BLOCK = 64
"""Columns after which each row decides on a path, and passes its errors on to all further columns together."""

_LEAST_BLOCK = 8  # columns of the last block, within which a row can come to any state
_FORBIDDEN = 1e30


@dataclass(frozen=True, eq=False)
class Layer:
    """What a layer's labels are chosen by.

    Attributes:
        weights: in units of half the distance between the points of a grid: float64, shape (groups, rows, columns).
        keep: which of them may be other than zero: bool, likewise.
        factors: of the error feedback.
        shape: of the tensor.
        bits: of the labels.
        price: layer error, in squares of the unit, that a bit is worth.
    """

    weights: Tensor
    keep: Tensor
    factors: FeedbackFactors
    shape: tuple[int, ...]
    bits: LabelBits
    price: float

    @property
    def rows(self) -> int:
        """The number of rows of all groups."""
        return self.weights.shape[0] * self.weights.shape[1]

    @property
    def columns(self) -> int:
        """The number of columns of a row."""
        return self.weights.shape[2]

    @cached_property
    def starts(self) -> Tensor:
        """Whether a lane of the trellis starts at a weight: bool, shape (rows, columns)."""
        blocks = [block for segment in segments_of([self.shape]) for block in segment.blocks]
        parts = [np.arange(block.size) % lane_length(block.positions) == 0 for block in blocks]
        return torch.from_numpy(np.concatenate(parts)).to(self.weights.device).reshape(self.rows, self.columns)

    @cached_property
    def contexts(self) -> Tensor:
        """The context of each weight: int64, shape (rows, columns)."""
        contexts = torch.from_numpy(self.bits.contexts.astype(np.int64)).to(self.weights.device)
        return contexts.reshape(self.rows, self.columns)

    @cached_property
    def table(self) -> Tensor:
        """The bits: float32, shape (2 grids, contexts, labels)."""
        return torch.from_numpy(self.bits.table).to(self.weights.device)

    @cached_property
    def passed_on(self) -> Tensor:
        """What an error of a column takes from each later one: float64, shape (groups, columns, columns)."""
        upper = self.factors.upper
        return upper / torch.diagonal(upper, dim1=-2, dim2=-1)[..., None]

    @cached_property
    def harm(self) -> Tensor:
        """What a squared error costs: float32, shape (rows, columns)."""
        return self.factors.harm.float().repeat_interleave(self.weights.shape[1], 0)


def choose_multiples(layer: Layer, memory: int) -> Tensor | None:
    """The multiples of the unit that a layer's weights become: float64 integers, shape (groups, rows, columns).

    None where a row with pruned weights cannot end in the state in which the next one begins.

    Args:
        layer: of at least ``LEAST_COLUMNS`` columns.
        memory: bits of the trellis' state.
    """
    search = _Search(layer, memory)
    left, groups = layer.weights.clone(), len(layer.weights)
    found = torch.zeros_like(left)
    starts = range(0, max(layer.columns - _LEAST_BLOCK, 1), BLOCK)
    for start, stop in zip(starts, [*starts[1:], layer.columns], strict=True):
        points, errors = search.block(left, start, stop)
        found[..., start:stop] = points.reshape(groups, -1, stop - start)
        errors = errors.double().reshape(groups, -1, stop - start)
        left[..., stop:] -= errors @ layer.passed_on[:, start:stop, stop:]
    return None if search.failed else found


class _Search:
    """The paths of all rows; ``total``: what they have cost, shape (rows, states); ``failed``: whether one ended."""

    def __init__(self, layer: Layer, memory: int) -> None:
        device = layer.weights.device
        self.layer = layer
        self.sources = torch.from_numpy(branches_to(memory)).to(device)
        self.states = 1 << memory
        self.grid = torch.arange(self.states, device=device) & 1
        self.rows = torch.arange(layer.rows, device=device)
        self.total = torch.empty(layer.rows, self.states, device=device)
        self.failed = False
        # A row ends in any state where a lane starts with the next one, or where there is none.
        self.bound = ~torch.cat([layer.starts[1:, 0], layer.starts.new_ones(1)])
        self._begin(self.rows, torch.zeros_like(self.rows))

    def block(self, left: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Multiples and errors of the best paths through some columns: float32, shape (rows, stop - start).

        Args:
            left: the weights less the errors of earlier blocks, as ``Layer.weights``.
            start: the first column.
            stop: the column after the last one.
        """
        points = torch.zeros(len(self.rows), self.states, stop - start, device=left.device)
        errors = torch.zeros_like(points)
        passed_on = self.layer.passed_on[:, start:stop, start:stop].float()
        for place in range(stop - start):
            starting = self.rows[self.layer.starts[:, start + place]]
            self._restart(starting, (points, errors))
            moved = errors.reshape(len(left), -1, stop - start)[..., :place] @ passed_on[:, :place, place, None]
            target = left[..., start + place].reshape(-1, 1).float() - moved.reshape(points.shape[:2])
            self._step(start + place, target, (points, errors), place)
        if stop == self.layer.columns:
            self.failed = bool((self.total[self.bound, 0] >= _FORBIDDEN / 2).any())
            self.total[self.bound, 1:] = _FORBIDDEN
        best = self.total.argmin(1)
        self._begin(self.rows, best if stop < self.layer.columns else torch.zeros_like(best))
        return points[self.rows, best], errors[self.rows, best]

    def _begin(self, rows: Tensor, states: Tensor) -> None:
        """Let rows go on from one state each."""
        self.total[rows] = _FORBIDDEN
        self.total[rows, states] = 0

    def _restart(self, rows: Tensor, paths: Sequence[Tensor]) -> None:
        """Decide on a path of the rows in which a lane starts, whose state is 0 again."""
        best = self.total[rows].argmin(1)
        for each in paths:
            each[rows] = each[rows, best][:, None].expand(-1, self.states, -1)
        self._begin(rows, torch.zeros_like(rows))

    def _step(self, column: int, target: Tensor, paths: Sequence[Tensor], place: int) -> None:
        """Go on by a column, from ``target``, shape (rows, states); ``paths`` are points and errors."""
        costs, points = self._branches(column, target)
        costs += self.total[..., None]
        one, other = (costs.flatten(1)[:, sources] for sources in self.sources)
        source = torch.where(other < one, self.sources[1], self.sources[0])
        self.total = torch.minimum(one, other)
        self.total -= self.total.min(1, keepdim=True)[0]
        before = source >> 1
        for each in paths:
            each[..., :place] = each[..., :place].gather(1, before[..., None].expand(-1, -1, place))
        paths[0][..., place] = points.flatten(1).gather(1, source)
        paths[1][..., place] = target.gather(1, before) - paths[0][..., place]

    def _branches(self, column: int, target: Tensor) -> tuple[Tensor, Tensor]:
        """Cost and multiple of the best point of each parity: shape (rows, states, 2) each."""
        size, largest = target.abs(), self.layer.table.shape[2] - 1
        costs, points = (torch.empty(*target.shape, 2, device=target.device) for _ in range(2))
        kept = self.layer.keep.reshape(self.layer.rows, -1)[:, column, None]
        for parity in (0, 1):
            top = largest - ((largest - parity) & 1)
            below = ((((size + self.grid) / 2 - parity) / 2).floor() * 2 + parity).clamp(parity, top)
            candidates = torch.stack([below, (below + 2).clamp(max=top), torch.full_like(below, parity)])
            magnitudes = (2 * candidates - self.grid).clamp(min=0)
            cost = (size - magnitudes) ** 2 * self.layer.harm[:, column, None]
            if self.layer.price:
                contexts = self.layer.contexts[:, column, None].expand_as(candidates)
                cost += self.layer.price * self.layer.table[self.grid.expand_as(contexts), contexts, candidates.long()]
            least, place = cost.min(0)
            costs[..., parity] = torch.where(kept, least, _FORBIDDEN if parity else 0.0)
            points[..., parity] = torch.where(kept, magnitudes.gather(0, place[None])[0], 0.0)
        return costs, torch.copysign(points, target[..., None])
