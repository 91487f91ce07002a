"""Rounding with error feedback: each column of a layer's weights is moved by the errors of the columns before it.

For a layer with inputs of second moments H, and U upper triangular with H^-1 = U^T U, columns are rounded in order.
Column j has the error e = (w_j - q_j) / U_jj, which adds e^2 to the layer's error whatever follows, and which later
columns make up for: w_k is lessened by e U_jk (optimal brain surgeon, Hassibi and Stork 1993; GPTQ, Frantar et al.
2022). The label of a column is the one of least e^2 + price * bits, with the bits that the encoder would spend in the
weight's context (rate-constrained as in CERWU, Conzelmann and Bamler, arXiv 2505.18758). Zero is always among the
labels to choose from, so that weights are pruned where that is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet.calibrate.second_moments import FeedbackFactors
from cnet.coding.rates import RateModel, segments_of

BLOCK = 128
"""Columns between which errors are passed on one by one; to the columns beyond, they are passed on together."""

LARGEST_LABEL = 2**14
"""The largest magnitude of a label: with both signs labels have 16 bits."""

_FEW_LABELS = 2048  # with more of them, bits hardly depend on the label, and tables would be large


@dataclass(frozen=True, eq=False)
class LabelBits:
    """Bits of each label in the context of each weight.

    Attributes:
        table: float64, shape (contexts, labels).
        contexts: of each weight: int64, shape (groups, rows, columns).
    """

    table: Tensor
    contexts: Tensor

    @classmethod
    def of(cls, shape: tuple[int, ...], magnitudes: npt.NDArray[np.int32], like: Tensor) -> LabelBits | None:
        """The bits if all weights were coded as ``magnitudes``; None where there are very many labels.

        Args:
            shape: of the tensor.
            magnitudes: of the labels of its weights in C order: int32, shape (weights,).
            like: a tensor of the shape (groups, rows, columns), on the device.
        """
        largest = int(magnitudes.max(initial=0)) + 1
        if largest > _FEW_LABELS:
            return None
        contexts, tables, first = np.zeros(len(magnitudes), np.int64), [], 0
        for segment in segments_of([shape]):
            part = magnitudes[segment.place]
            rates = RateModel.fit(segment, part).rates(part, np.zeros(len(part), np.uint8), largest)
            contexts[segment.place] = rates.contexts.astype(np.int64) + first
            tables.append(rates.bits[0].astype(np.float64))
            first += len(tables[-1])
        table = torch.from_numpy(np.concatenate(tables)).to(like.device)
        return cls(table, torch.from_numpy(contexts).to(like.device).reshape(like.shape))


@dataclass(frozen=True, eq=False)
class Rounding:
    """What a layer is rounded by.

    Attributes:
        step: step size; labels are multiples of it.
        factors: of the error feedback.
        bits: of the labels; None: each weight takes the nearest label.
        price: layer error that a bit is worth.
        keep: which weights may be other than zero: bool, shape (groups, rows, columns); None: all of them.
    """

    step: float
    factors: FeedbackFactors
    bits: LabelBits | None = None
    price: float = 0.0
    keep: Tensor | None = None


def choose_labels(weights: Tensor, rounding: Rounding) -> Tensor:
    """The labels of a layer: those of error feedback, or in rows where these cost more, the nearest ones.

    Rows do not depend on each other, so that no row costs more than rounding it to the nearest labels.

    Args:
        weights: float64, shape (groups, rows, columns).
        rounding: what they are rounded by.

    Returns:
        float64 integers, shape as ``weights``.
    """
    passed_on = _round_with_feedback(weights, rounding)
    nearest = (weights / rounding.step).round().clamp(-LARGEST_LABEL, LARGEST_LABEL)
    if rounding.keep is not None:
        nearest = nearest * rounding.keep
    cheaper = _row_costs(weights, nearest, rounding) < _row_costs(weights, passed_on, rounding)
    return torch.where(cheaper[..., None], nearest, passed_on)


def _row_costs(weights: Tensor, labels: Tensor, rounding: Rounding) -> Tensor:
    """Layer error plus price of the bits of each row: float64, shape (groups, rows)."""
    # With H = R R^T and U = R^-1, d H d^T is the square of d R, which solves y U = d.
    change = labels * rounding.step - weights
    solved = torch.linalg.solve_triangular(rounding.factors.upper, change, upper=True, left=False)
    costs: Tensor = solved.square().sum(-1)
    if rounding.bits is None or rounding.price == 0:
        return costs
    magnitudes = labels.abs().long().clamp(max=rounding.bits.table.shape[1] - 1)
    bits: Tensor = rounding.bits.table[rounding.bits.contexts, magnitudes].sum(-1)
    return costs + rounding.price * bits


def _round_with_feedback(weights: Tensor, rounding: Rounding) -> Tensor:
    """The labels of error feedback, as ``choose_labels``."""
    left, upper = weights / rounding.step, rounding.factors.upper
    own = torch.diagonal(upper, dim1=-2, dim2=-1)
    labels = torch.zeros_like(left)
    columns = left.shape[-1]
    for start in range(0, columns, BLOCK):
        stop = min(start + BLOCK, columns)
        errors = torch.zeros_like(left[..., start:stop])
        for column in range(start, stop):
            scale = own[:, None, column]
            labels[..., column] = _labels(left[..., column], column, scale, rounding)
            error = (left[..., column] - labels[..., column]) / scale
            errors[..., column - start] = error
            rest = slice(column + 1, stop)
            left[..., rest] -= error[..., None] * upper[:, None, column, rest]
        left[..., stop:] -= errors @ upper[:, start:stop, stop:]
    return labels


def _labels(values: Tensor, column: int, scale: Tensor, rounding: Rounding) -> Tensor:
    """The labels of one column, from its values in steps: shape (groups, rows)."""
    magnitudes = values.abs()
    if rounding.bits is None or rounding.price == 0:
        chosen = magnitudes.round().clamp(max=LARGEST_LABEL)
    else:
        top = rounding.bits.table.shape[1] - 1
        below = magnitudes.floor().clamp(max=top)
        candidates = torch.stack([below, (below + 1).clamp(max=top), torch.zeros_like(below)])
        bits = rounding.bits.table[rounding.bits.contexts[..., column], candidates.long()]
        costs = ((magnitudes - candidates) * (rounding.step / scale)) ** 2 + rounding.price * bits
        chosen = candidates.gather(0, costs.argmin(0, keepdim=True))[0]
    if rounding.keep is not None:
        chosen = chosen * rounding.keep[..., column]
    return torch.copysign(chosen, values) * (chosen > 0)
