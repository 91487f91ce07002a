"""Second moments of a layer's inputs, and the factors of error feedback that follow from them.

With H = E[x x^T] and C = E[x_o x^T], where x are a layer's inputs in the quantized network and x_o in the original one,
the weights W_t = W C H^-1 of least error E|W x_o - W_t x|^2 make up for what the layers before have changed. Rounding
them to W_q adds tr((W_q - W_t) H (W_q - W_t)^T) (Frantar et al., GPTQ, 2022). All sums are in float64.

Few samples make H look as if it had directions in which errors cost nothing, and inputs that are nearly always zero.
H is therefore shrunk towards a multiple of the identity (Ledoit and Wolf, A well-conditioned estimator for
large-dimensional covariance matrices, 2004): its own diagonal would not do, since errors would still gather at the
inputs that were dead on these samples. Moments are kept for two halves of the samples. Settings found on one half are
judged on the other: how far H is shrunk, and how far W is moved towards W_t.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SHRINKAGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""What may be added to the diagonal of second moments, relative to its mean. With the last one, hardly an error is
passed on."""

_ROWS = 4096
_CHOICE_COLUMNS = 512  # of a wide layer, from which the shrinkage is chosen
_LEAST_POWER = 1e-3  # of a group of inputs, relative to the mean of all groups
_DAMPING = 1e-4  # what is added at least, so that there is an inverse


@dataclass(frozen=True, eq=False)
class Moments:
    """Second moments of a layer's inputs over some samples.

    Attributes:
        own: E[x x^T], float64, shape (groups, columns, columns).
        cross: E[x_o x^T], likewise.
        count: number of columns vectors x that they are the mean of.
    """

    own: Tensor
    cross: Tensor
    count: int

    @classmethod
    def of(cls, original: Tensor, quantized: Tensor) -> Moments:
        """The moments of inputs in both networks, shape (groups, samples, columns) each."""
        own = _product(quantized, quantized)
        return cls(own, own if quantized is original else _product(original, quantized), quantized.shape[1])

    @classmethod
    def none(cls, weights: Tensor) -> Moments:
        """The moments over no samples, for weights of shape (groups, rows, columns)."""
        groups, _, columns = weights.shape
        zeros = torch.zeros(groups, columns, columns, dtype=torch.float64, device=weights.device)
        return cls(zeros, zeros, 0)

    def __add__(self, other: Moments) -> Moments:
        """The moments over the samples of both."""
        count = max(self.count + other.count, 1)
        mine, others = self.count / count, other.count / count
        return Moments(
            self.own * mine + other.own * others, self.cross * mine + other.cross * others, self.count + other.count
        )

    def scaled(self, steps: Tensor) -> Moments:
        """The moments of inputs times the steps of their columns.

        ``steps``, shape (groups, rows, columns), are products of a factor of the row and one of the column.
        """
        columns = steps[:, :1] / steps[:, :1, :1]
        factors = columns.transpose(1, 2) * columns
        return Moments(self.own * factors, self.cross * factors, self.count)

    @property
    def power(self) -> Tensor:
        """E[x^2] of each input, shape (groups, columns)."""
        return torch.diagonal(self.own, dim1=-2, dim2=-1)


def _product(left: Tensor, right: Tensor) -> Tensor:
    groups, samples, columns = left.shape
    total = torch.zeros(groups, columns, columns, dtype=torch.float64, device=left.device)
    for start in range(0, samples, _ROWS):
        part = slice(start, start + _ROWS)
        total += left[:, part].double().transpose(1, 2) @ right[:, part].double()
    return total / max(samples, 1)


@dataclass(frozen=True, eq=False)
class FeedbackFactors:
    """How errors are passed on from column to column.

    Attributes:
        upper: U with H^-1 = U^T U, upper triangular, float64, shape (groups, columns, columns), of the shrunk H.
    """

    upper: Tensor

    @property
    def harm(self) -> Tensor:
        """What a squared error of a column costs once later columns have made up for it: (groups, columns)."""
        return torch.diagonal(self.upper, dim1=-2, dim2=-1) ** -2

    @classmethod
    def none(cls, device: torch.device) -> FeedbackFactors:
        """The factors of a single column, whose errors nothing makes up for and which all count alike."""
        return cls(torch.ones(1, 1, 1, dtype=torch.float64, device=device))

    @classmethod
    def of(cls, own: Tensor, shrinkage: float) -> FeedbackFactors:
        """The factors for second moments ``own``, shape (groups, columns, columns), that are shrunk and damped."""
        shrunk = shrink(own, shrinkage)
        # With the rows and columns of H in reverse order, its Cholesky factor is R in H = R R^T, R upper triangular.
        reverse = torch.linalg.cholesky(shrunk.flip(-1, -2)).flip(-1, -2)
        identity = torch.eye(own.shape[-1], dtype=own.dtype, device=own.device).expand_as(own)
        return cls(torch.linalg.solve_triangular(reverse, identity, upper=True))

    def expected_error(self, own: Tensor) -> float:
        """Layer error of rounding with these factors on inputs of other moments, in squares of the step size."""
        spread = self.upper / torch.diagonal(self.upper, dim1=-2, dim2=-1)[..., None]
        return float(((spread @ own) * spread).sum())


def shrink(own: Tensor, shrinkage: float) -> Tensor:
    """``own`` with a multiple of the identity added: ``shrinkage`` times the mean of its diagonal; shape as ``own``."""
    mean = torch.diagonal(own, dim1=-2, dim2=-1).mean(-1)
    overall = mean.mean()
    mean = torch.maximum(mean, overall * _LEAST_POWER) if overall > 0 else torch.ones_like(mean)
    identity = torch.eye(own.shape[-1], dtype=own.dtype, device=own.device)
    return own + (shrinkage + _DAMPING) * mean[:, None, None] * identity


def choose_shrinkage(halves: tuple[Moments, Moments]) -> float:
    """The shrinkage whose factors, found on each half of the samples, have the least error on the other.

    It is the largest one, so that hardly an error is passed on, where one of the halves is empty.
    """
    first, second = halves
    if not first.count or not second.count:
        return SHRINKAGES[-1]

    one, other = (half.own[:, :_CHOICE_COLUMNS, :_CHOICE_COLUMNS] for half in halves)

    def error(shrinkage: float) -> float:
        forward, backward = (FeedbackFactors.of(own, shrinkage) for own in (one, other))
        return forward.expected_error(other) + backward.expected_error(one)

    best = SHRINKAGES[-1]
    least = error(best)
    for shrinkage in reversed(SHRINKAGES[:-1]):
        found = error(shrinkage)
        if found >= least:
            break  # the error falls and then rises again
        best, least = shrinkage, found
    return best


def compensated(weights: Tensor, halves: tuple[Moments, Moments], shrinkage: float) -> Tensor:
    """Weights corrected for the change of the inputs by the layers before, as far as other samples confirm it.

    Args:
        weights: float64, shape (groups, rows, columns).
        halves: moments over two halves of the samples.
        shrinkage: of the second moments.
    """
    first, second = halves
    if not first.count or not second.count:
        return weights
    moves = [_move(weights, half, shrinkage) for half in halves]
    gain = power = 0.0
    for move, other in ((moves[0], second), (moves[1], first)):
        gain += float(((weights @ (other.cross - other.own)) * move).sum())
        power += float(((move @ other.own) * move).sum())
    share = min(max(gain / power, 0.0), 1.0) if power > 0 else 0.0
    return weights + share * _move(weights, first + second, shrinkage) if share else weights


def _move(weights: Tensor, moments: Moments, shrinkage: float) -> Tensor:
    """W (C - H) H^-1 with the shrunk H."""
    upper = FeedbackFactors.of(moments.own, shrinkage).upper
    return ((weights @ (moments.cross - moments.own)) @ upper.transpose(-1, -2)) @ upper
