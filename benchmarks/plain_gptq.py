"""Plain GPTQ: rounding to the nearest labels with error feedback (Frantar et al., 2022), to compare with."""

from __future__ import annotations

import torch
from torch import Tensor

from cnet.calibrate.second_moments import FeedbackFactors

BLOCK = 128
"""Columns between which errors are passed on one by one; to the columns beyond, they are passed on together."""


def round_with_feedback(weights: Tensor, step: float, factors: FeedbackFactors) -> Tensor:
    """The labels of a layer, multiples of ``step``: float64 integers, shape (groups, rows, columns), as the weights."""
    left, upper = weights / step, factors.upper
    own = torch.diagonal(upper, dim1=-2, dim2=-1)
    labels = torch.zeros_like(left)
    columns = left.shape[-1]
    for start in range(0, columns, BLOCK):
        stop = min(start + BLOCK, columns)
        errors = torch.zeros_like(left[..., start:stop])
        for column in range(start, stop):
            labels[..., column] = left[..., column].round()
            error = (left[..., column] - labels[..., column]) / own[:, None, column]
            errors[..., column - start] = error
            rest = slice(column + 1, stop)
            left[..., rest] -= error[..., None] * upper[:, None, column, rest]
        left[..., stop:] -= errors @ upper[:, start:stop, stop:]
    return labels
