"""Step sizes that differ between the rows of a tensor, and between its columns.

Errors of some channels hardly reach the outputs: those of a gate that is nearly shut, or of a channel that is zero on
most inputs. The fewest bits for a given divergence have g s^2 equal in all rows and columns, with g their mean Fisher
information and s their step size, so that s is in proportion to g^(-1/2). But what few samples say of a channel may not
hold for others. The steps are therefore s = (g / mean(g) + floor)^(-exponent / 2), with the exponent and the floor for
which steps from either half of the samples would have saved most bits on the other one; the halves are as unlike as
possible (``samples``). Where nothing is saved, all steps are the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.calibrate.sensitivity import TensorFisher

Doubles = npt.NDArray[np.float64]

EXPONENTS = (0.25, 0.5)
"""Larger ones fit the inputs better still, and made others diverge several times as far in networks with rare inputs,
such as embeddings of tokens."""

FLOORS = (0.05, 0.1, 0.2)

_FACTOR_BITS = 8.0
"""What a factor has to save: about what it takes in a bundle, twice."""

_ODD_HALF_OCTAVE = 181 / 128
"""The square root of 2 with 8 bits of mantissa, so that products of factors are exact."""


@dataclass(frozen=True, eq=False)
class AxisSteps:
    """Step sizes of rows and columns relative to that of their tensor: powers of the square root of 2.

    Attributes:
        rows, columns: float64, shapes (rows,) and (columns,); of a tensor with fewer than two axes one each.
        noise: mean of g s^2 over the tensor, relative to the mean of g: what these steps make of the squared error.
    """

    rows: Doubles
    columns: Doubles
    noise: float = 1.0

    @classmethod
    def of(cls, fisher: TensorFisher, size: int) -> AxisSteps:
        """The steps of a tensor of which ``size`` weights may be other than zero."""
        rows = _steps(fisher.rows, fisher.kept_rows, size)
        columns = _steps(fisher.columns, fisher.kept_columns, size)
        noise = _noise(rows, _mean(fisher.rows), fisher.kept_rows)
        noise *= _noise(columns, _mean(fisher.columns), fisher.kept_columns)
        return cls(rows, columns, noise)

    @property
    def differ(self) -> bool:
        """Whether there is more than one step size."""
        return bool(np.any(self.rows != 1) or np.any(self.columns != 1))

    def limited(self, weights: Doubles, step: float, limit: float) -> AxisSteps:
        """The steps, each at most the larger one of ``step`` and ``limit`` root mean squares of its row or column.

        A channel that has no effect on a few inputs may have one on others, and keeps some of its weights' precision.

        Args:
            weights: the tensor's.
            step: of the tensor if it had only one, from which its steps are ``step / sqrt(noise)`` times these.
            limit: largest step size of a row or column, in root mean squares of those of its weights that are not zero.
        """
        if not self.differ or not weights.any():
            return self
        matrix = weights.reshape(len(self.rows), len(self.columns), -1)
        powers = [(matrix**2).sum(axes) / np.maximum((matrix != 0).sum(axes), 1) for axes in ((1, 2), (0, 2))]
        largest = [np.maximum(step, limit * np.sqrt(power)) * math.sqrt(self.noise) / step for power in powers]
        rows, columns = (
            np.minimum(steps, _rounded(most)) for steps, most in zip((self.rows, self.columns), largest, strict=True)
        )
        return AxisSteps(rows, columns, self.noise)

    def of_weights(self, shape: tuple[int, ...]) -> Doubles:
        """The relative step of each weight of a tensor of this shape."""
        if len(shape) < 2:
            return np.ones(shape)
        inner = [1] * (len(shape) - 2)
        return np.ones(shape) * (self.rows[:, None] * self.columns[None]).reshape(*shape[:2], *inner)


def _steps(halves: Sequence[Doubles], kept: Doubles | None, size: int) -> Doubles:
    """The relative steps along one axis, from the mean Fisher information of its slices in each half.

    Args:
        halves: of each half, the mean of each slice.
        kept: how many weights of each slice count; None: the same number of each.
        size: how many weights the tensor has that are not zero.
    """
    count = len(halves[0])
    same = np.ones(count)
    if len(halves) < 2 or count < 2 or not all(half.sum() > 0 for half in halves):
        return same
    saved, best = 0.0, same
    for exponent, floor in itertools.product(EXPONENTS, FLOORS):
        bits = min(
            _saved_bits(_rounded(_power(one, kept, exponent, floor)), other, kept)
            for one, other in itertools.permutations(halves)
        )
        if bits > saved:
            saved, best = bits, _rounded(_power(_mean(halves), kept, exponent, floor))
    return best if saved * size > _FACTOR_BITS * count else same


def _saved_bits(steps: Doubles, fisher: Doubles, kept: Doubles | None) -> float:
    """Bits a weight that steps save at equal noise, on samples of a given Fisher information of the slices."""
    return float(np.average(np.log2(steps), weights=kept) - 0.5 * np.log2(_noise(steps, fisher, kept)))


def _noise(steps: Doubles, fisher: Doubles, kept: Doubles | None) -> float:
    mean = float(np.average(fisher, weights=kept))
    return float(np.average(fisher * steps**2, weights=kept)) / mean if mean > 0 else 1.0


def _power(fisher: Doubles, kept: Doubles | None, exponent: float, floor: float) -> Doubles:
    found: Doubles = (fisher / np.average(fisher, weights=kept) + floor) ** (-exponent / 2)
    return found if kept is None else np.where(kept > 0, found, 1.0)


def _rounded(steps: Doubles) -> Doubles:
    """The nearest powers of the square root of 2."""
    halves = np.rint(2 * np.log2(steps)).astype(np.int64)
    powers: Doubles = np.ldexp(np.where(halves % 2, _ODD_HALF_OCTAVE, 1.0), halves // 2)
    return powers


def _mean(halves: Sequence[Doubles]) -> Doubles:
    found: Doubles = np.mean(halves, axis=0)
    return found
