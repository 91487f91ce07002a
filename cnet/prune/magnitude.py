"""Pruning by magnitude: the smallest weights of the whole net go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.prune import _select
from cnet.prune._base import PRUNERS, Pruner
from cnet.weights import Weights


@PRUNERS.register("magnitude")
class Magnitude(Pruner):
    """One threshold on |w| over the whole net.

    Exactly round(sparsity * n) weights become zero, where ``round`` is Python's (a half goes to the even number) and
    weights that are zero already count. Where more are zero than asked for, these and no others are zero afterwards.
    Of equal magnitudes the one that comes first in w_net goes first.
    """

    name: Literal["magnitude"] = "magnitude"
    summary: ClassVar[str] = "Sets the smallest weights of the whole net to zero."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019), the pruning step"

    def keep(self, weights: Weights, sparsity: float) -> npt.NDArray[np.bool_]:
        """The mask, shape (n,): True where a weight is kept."""
        if any(weights[name].dtype == "float64" for name in weights.compressible):
            return keep_largest(np.abs(weights.vector()), sparsity)
        return _keep_by_bits(weights, round(sparsity * weights.compressible_parameters))


def _keep_by_bits(weights: Weights, dropped: int) -> npt.NDArray[np.bool_]:
    """As ``keep_largest``, of the magnitudes of float32 values, one tensor at a time: no copy of w_net is made."""

    def magnitudes() -> Iterator[_select.Bits]:
        for name in weights.compressible:
            yield from _select.chunks(np.ascontiguousarray(weights[name].values(), np.float32))

    keep = np.empty(weights.compressible_parameters, np.bool_)
    threshold, below = _select.smallest(magnitudes, dropped) if dropped else (0, 0)
    spare, start = dropped - below, 0  # of those at the threshold, so many go
    for part in magnitudes():
        place = keep[start : start + len(part)]
        np.greater(part, threshold, out=place)
        if threshold:  # zeros are never kept
            ties = np.flatnonzero(part == threshold)
            place[ties[spare:]] = True
            spare = max(0, spare - len(ties))
        start += len(part)
    return keep


def keep_largest(saliency: npt.NDArray[np.floating], sparsity: float) -> npt.NDArray[np.bool_]:
    """All but the round(sparsity * n) smallest; zeros are never kept.

    Args:
        saliency: shape (n,), not negative.
        sparsity: fraction to drop, 0..1.
    """
    dropped = round(sparsity * len(saliency))
    keep: npt.NDArray[np.bool_] = saliency != 0
    if dropped <= len(saliency) - np.count_nonzero(keep):
        return keep
    threshold = np.partition(saliency, dropped - 1)[dropped - 1]
    keep = saliency > threshold
    ties = np.flatnonzero(saliency == threshold)
    below = len(saliency) - np.count_nonzero(keep) - len(ties)
    keep[ties[dropped - below :]] = True
    return keep
