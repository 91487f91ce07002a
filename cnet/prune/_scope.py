"""Who competes with whom for being kept: all of the net, one tensor, or one output."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.weights import Weights

Mask = npt.NDArray[np.bool_]
Saliency = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Scope:
    """``name`` is network, layer or column; ``floor`` the share of each tensor that network leaves in it."""

    name: str
    floor: float


def keep_most_salient(saliency: Saliency, weights: Weights, sparsity: float, scope: Scope) -> Mask:
    """The mask of w_net, shape (n,): all but the least salient, zeros never.

    Args:
        saliency: shape (n,), not negative.
        weights: the net, for where tensors lie and what is zero.
        sparsity: fraction to drop, 0..1.
        scope: who competes.
    """
    alive = weights.vector() != 0
    if scope.name == "network":
        return _keep(_with_floor(saliency, weights, sparsity, scope.floor), alive, sparsity)
    keep = np.zeros(len(alive), np.bool_)
    for name, part in weights.slices():
        if scope.name == "layer" or len(weights[name].shape) < 2:
            keep[part] = _keep(saliency[part], alive[part], sparsity)
        else:
            columns = (weights[name].shape[0], -1)
            kept = _keep_in_rows(saliency[part].reshape(columns), alive[part].reshape(columns), sparsity)
            keep[part] = kept.reshape(-1)
    return keep


def _keep(saliency: Saliency, alive: Mask, sparsity: float) -> Mask:
    """All but the round(sparsity * n) least salient; of equals the first goes first."""
    dropped = round(sparsity * len(saliency))
    if dropped <= len(saliency) - np.count_nonzero(alive):
        return alive
    ranked = np.where(alive, saliency, -1)
    threshold = np.partition(ranked, dropped - 1)[dropped - 1]
    keep: Mask = ranked > threshold
    ties = np.flatnonzero(ranked == threshold)
    below = len(saliency) - np.count_nonzero(keep) - len(ties)
    keep[ties[dropped - below :]] = True
    return keep


def _keep_in_rows(saliency: Saliency, alive: Mask, sparsity: float) -> Mask:
    """``_keep`` of each row."""
    dropped = round(sparsity * saliency.shape[1])
    order = np.argsort(np.where(alive, saliency, -1), axis=1, kind="stable")
    keep = alive.copy()
    np.put_along_axis(keep, order[:, :dropped], values=False, axis=1)
    return keep


def _with_floor(saliency: Saliency, weights: Weights, sparsity: float, floor: float) -> Saliency:
    """``saliency`` with the best of each tensor above all others."""
    if not floor:
        return saliency
    raised = saliency.astype(np.float64)
    for name, part in weights.slices():
        size = weights[name].size
        count = min(math.ceil(floor * size), math.floor((1 - sparsity) * size))
        if count:
            best = np.argsort(-raised[part], kind="stable")[:count]
            raised[part.start + best] = np.inf
    return raised
