"""How sensitive the outputs of a network are to errors in each of its tensors.

For small errors d of the weights, the divergence of the new outputs from the old ones is 1/2 d^T F d with the Fisher
information F. Its diagonal is E[g^2], with g the gradient of the log-likelihood of a label that is drawn from the
network's own prediction; it needs no labels (Martens, New insights and perspectives on the natural gradient method,
2020). The square is taken for one sample at a time: that of a batch's gradient would mix samples. Of outputs with
several decisions a sample, such as the steps of a line of text, the divergence is the mean over them, and so is F.
It is kept as its mean over each row and each column of a tensor, for two halves of the samples. Weights that are zero
are pruned: they have no errors, and the mean is that of the others. In a network that is pruned by magnitude these can
be several times as sensitive as the mean of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from cnet.observer import Observer, check_stop
from cnet.training.measurements.evaluation import not_finite_error
from cnet.training.tasks.comparison import Comparison

Batch = tuple[Tensor, ...]
Doubles = npt.NDArray[np.float64]

_SEED = 0
_DRAWS = 4  # of a label for each sample: fewer leave more noise, and one gradient is about as dear as the outputs


@dataclass(frozen=True, eq=False)
class TensorFisher:
    """Means of the diagonal of the Fisher information over the slices of a tensor, for each half of the samples.

    Attributes:
        rows: for each half that has samples, the mean over each row: float64, shape (rows,).
        columns: the same over each column. A tensor with fewer than two axes is one row and one column.
        kept: how many weights of each row and of each column these are the mean of: float64, shapes (rows,) and
            (columns,); None: of all, and as many in each.
    """

    rows: tuple[Doubles, ...]
    columns: tuple[Doubles, ...]
    kept: tuple[Doubles, Doubles] | None = None

    @property
    def kept_rows(self) -> Doubles | None:
        """How many weights each mean of ``rows`` is taken over; see ``kept``."""
        return None if self.kept is None else self.kept[0]

    @property
    def kept_columns(self) -> Doubles | None:
        """How many weights each mean of ``columns`` is taken over; see ``kept``."""
        return None if self.kept is None else self.kept[1]

    @property
    def mean(self) -> float:
        """The mean over the tensor and all samples."""
        return float(np.mean([np.average(half, weights=self.kept_rows) for half in self.rows]))

    def to_json(self) -> dict[str, list[list[float]]]:
        """As lists of numbers."""
        names = ("rows", "columns") if self.kept is None else ("rows", "columns", "kept")
        return {name: [numbers.tolist() for numbers in getattr(self, name)] for name in names}

    @classmethod
    def from_json(cls, document: Mapping[str, Sequence[Sequence[float]]]) -> TensorFisher:
        """The inverse of ``to_json``."""
        found = {name: tuple(np.array(each, np.float64) for each in lists) for name, lists in document.items()}
        kept = (found["kept"][0], found["kept"][1]) if "kept" in found else None
        return cls(found["rows"], found["columns"], kept)


def fisher_by_axis(
    module: nn.Module,
    weights: Mapping[str, Tensor],
    halves: Sequence[Sequence[Batch]],
    comparison: Comparison,
    observer: Observer,
    on_fraction: Callable[[float], None],
) -> dict[str, TensorFisher]:
    """The diagonal of the Fisher information of one decision, averaged along the axes of each tensor, by name.

    Args:
        module: the network in evaluation mode.
        weights: its tensors, by name; that of a tensor without a gradient (a buffer) is 0. Those of a tensor's weights
            that are zero do not count, unless all are.
        halves: one or two groups of samples, each of inputs of one sample: tensors of shape (1, ...).
        comparison: with the outputs of the network; it draws labels from them.
        observer: asked before each sample whether to stop.
        on_fraction: told after each sample the done part, 0..1.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or NaN.
        StoppedError: the observer asks to stop.
    """
    generator = torch.Generator().manual_seed(_SEED)
    trained = {name: weight for name, weight in weights.items() if weight.requires_grad}
    left = {name: _left(weight) for name, weight in weights.items()}
    count, done = sum(map(len, halves)), 0
    found: list[dict[str, tuple[Doubles, Doubles]]] = []
    for half in halves:
        totals = {name: tuple(np.zeros(side) for side in _sides(weight)) for name, weight in weights.items()}
        for sample in half if trained else ():
            check_stop(observer)
            outputs = module(*sample).float()
            if not outputs.isfinite().all():
                raise not_finite_error()
            for name, squares in _drawn_squares(outputs, trained, comparison, generator):
                if (mask := left[name]) is not None:
                    squares.mul_(mask)
                for total, means in zip(totals[name], _axis_means(squares), strict=True):
                    total += means / (comparison.decisions(outputs) * len(half) * _DRAWS)
            done += 1
            on_fraction(done / count)
        found.append({name: (total[0], total[1]) for name, total in totals.items()})
    return {name: _of_kept([half[name] for half in found], left[name], weights[name].numel()) for name in weights}


def _drawn_squares(
    outputs: Tensor, trained: Mapping[str, Tensor], comparison: Comparison, generator: torch.Generator
) -> Iterator[tuple[str, Tensor]]:
    """The squared gradients of each drawn label, by name, in the shape of the weights."""
    for draw in range(_DRAWS):
        loss = comparison.sampled_loss(outputs, generator)
        again = draw < _DRAWS - 1
        gradients = torch.autograd.grad(loss, list(trained.values()), retain_graph=again, allow_unused=True)
        for name, gradient in zip(trained, gradients, strict=True):
            if gradient is not None:  # a program may have weights that no output depends on
                yield name, gradient.square()


def _left(weight: Tensor) -> Tensor | None:
    """Which weights are other than zero, bool, in their shape; None where all are, or none is."""
    left = weight.detach() != 0
    return None if int(left.sum()) in (0, weight.numel()) else left


def _of_kept(halves: Sequence[tuple[Doubles, Doubles]], left: Tensor | None, size: int) -> TensorFisher:
    """The means over the weights that are left, from those over all ``size``; 0 for a slice of which none is left."""
    kept = None
    if left is not None:
        rows, columns = _axis_means(left.double())
        kept = np.rint(rows * (size / len(rows))), np.rint(columns * (size / len(columns)))
        shares = [np.maximum(count, 1) / (size / len(count)) for count in kept]
        halves = [(rows / shares[0], columns / shares[1]) for rows, columns in halves]
    return TensorFisher(tuple(rows for rows, _ in halves), tuple(columns for _, columns in halves), kept)


def _sides(weight: Tensor) -> tuple[int, int]:
    return (weight.shape[0], weight.shape[1]) if weight.dim() > 1 else (1, 1)


def _axis_means(numbers: Tensor) -> tuple[Doubles, Doubles]:
    """The mean over each row and over each column, float64; of fewer than two axes one of each."""
    matrix = numbers.reshape(*_sides(numbers), -1).double()
    return matrix.mean((1, 2)).cpu().numpy(), matrix.mean((0, 2)).cpu().numpy()
