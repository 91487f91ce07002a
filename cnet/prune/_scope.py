"""The mask of the most salient weights, where all weights compete, those of a tensor, or those of an output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cnet.weights import Weights

ScopeName = Literal["network", "layer", "column"]

Mask = npt.NDArray[np.bool_]
Saliency = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Scope:
    """Which weights compete with each other.

    Attributes:
        name: all weights of the model, those of one tensor, or those that one output is computed from.
        floor: share of each tensor's weights that ``network`` keeps, 0..1.
    """

    name: ScopeName
    floor: float


def keep_most_salient(saliency: Saliency, weights: Weights, sparsity: float, scope: Scope) -> Mask:
    """The mask of w_net, bool, shape (n,): True for all but the least salient weights, never for a zero.

    Args:
        saliency: what each weight is worth, not negative, float32 or float64, shape (n,).
        weights: the model; says where tensors begin and which weights are zero.
        sparsity: fraction to prune, 0..1.
        scope: which weights compete.
    """
    nonzero = weights.vector() != 0
    if scope.name == "network":
        return _keep(_raise_floor(saliency, weights, sparsity, scope.floor), nonzero, sparsity)
    keep = np.zeros(len(nonzero), np.bool_)
    for name, part in weights.slices():
        if scope.name == "layer" or len(weights[name].shape) < 2:
            keep[part] = _keep(saliency[part], nonzero[part], sparsity)
        else:
            rows = (weights[name].shape[0], -1)
            kept = _keep_in_rows(saliency[part].reshape(rows), nonzero[part].reshape(rows), sparsity)
            keep[part] = kept.reshape(-1)
    return keep


def _keep(saliency: Saliency, nonzero: Mask, sparsity: float) -> Mask:
    """All but the round(sparsity * n) least salient weights, shape (n,); of equals the first is pruned first."""
    pruned = round(sparsity * len(saliency))
    if pruned <= len(saliency) - np.count_nonzero(nonzero):
        return nonzero
    ranked = np.where(nonzero, saliency, -1)
    threshold = np.partition(ranked, pruned - 1)[pruned - 1]
    keep: Mask = ranked > threshold
    ties = np.flatnonzero(ranked == threshold)
    below = len(saliency) - np.count_nonzero(keep) - len(ties)
    keep[ties[pruned - below :]] = True
    return keep


def _keep_in_rows(saliency: Saliency, nonzero: Mask, sparsity: float) -> Mask:
    """``_keep`` applied to each row; all of shape (rows, columns)."""
    pruned = round(sparsity * saliency.shape[1])
    order = np.argsort(np.where(nonzero, saliency, -1), axis=1, kind="stable")
    keep = nonzero.copy()
    np.put_along_axis(keep, order[:, :pruned], values=False, axis=1)
    return keep


def _raise_floor(saliency: Saliency, weights: Weights, sparsity: float, floor: float) -> Saliency:
    """``saliency`` with infinity for the best weights of each tensor, so that they are kept."""
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
