"""Quantized weights: centroids are trained and weights follow their labels, or all compressible weights are frozen."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import Parameter

from cnet import arrays
from cnet.reconstruction import Dither
from cnet.symbols import Symbols
from cnet.training.constraints.base import WeightConstraint


class FrozenWeights(WeightConstraint):
    """Freezes all compressible weights: biases and batch normalization are trained around them.

    Args:
        weights: the compressible tensors, any shape.

    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self._weights = list(weights)

    def parameters(self, module: torch.nn.Module) -> list[Parameter]:
        """The parameters of the module that are not compressible."""
        frozen = {id(weight) for weight in self._weights}
        return [parameter for parameter in module.parameters() if id(parameter) not in frozen]

    def before_step(self) -> None:
        """Drop the gradients of the frozen weights."""
        for weight in self._weights:
            weight.grad = None


class SharedCentroids(FrozenWeights):
    """Trains centroids instead of weights: each weight takes the value of its centroid, and pruned weights stay zero.

    The gradient of a centroid is the sum over the weights of its label (Deep Compression, section 3.3), divided here by
    their number. A plain gradient step is then the projection of the step that free weights would take, and the same
    learning rate suits centroids of ten weights and of ten thousand; for Adam the division makes no difference. Biases
    and batch normalization are trained too, since their bytes in the bundle do not depend on their values. A dither is
    not trained (Choi, El-Khamy and Lee, 2018).

    Args:
        weights: the compressible tensors in the order of w_net, float32, any shape.
        symbols: mask, labels and centroids of w_net.

    Raises:
        ValueError: the symbols have no labels, or each row scales its centroids.

    """

    def __init__(self, weights: Sequence[Tensor], symbols: Symbols) -> None:
        if symbols.labels is None:
            raise ValueError("symbols: without labels there are no centroids to train. Quantize to labels first.")
        if symbols.reconstruction is not None and not isinstance(symbols.reconstruction, Dither):
            raise ValueError("symbols: every row scales its centroids. Freeze them (``freeze_centroids``) instead.")
        super().__init__(weights)
        self._sizes = [weight.numel() for weight in weights]
        device = weights[0].device
        count = len(symbols.centroids)
        index = np.full(len(symbols.keep), count, np.int64)  # pruned weights get the index after the last
        index[symbols.keep] = symbols.labels
        self._index = torch.from_numpy(index).to(device)
        members = np.bincount(index, minlength=count + 1)[:count].clip(min=1)
        self._members = torch.from_numpy(members).to(device, torch.float32)
        self._sums = LabelSums(index, count, device)
        self._centroids = Parameter(torch.from_numpy(symbols.centroids.astype(np.float32)).to(device))
        self._dither = (
            None if symbols.reconstruction is None else _dither_vector(symbols.reconstruction, symbols.keep).to(device)
        )
        self.after_step()

    def parameters(self, module: torch.nn.Module) -> list[Parameter]:
        """The centroids, and the parameters of the module that are not compressible."""
        return [self._centroids, *super().parameters(module)]

    def before_step(self) -> None:
        """Compute the gradients of the centroids from those of the weights, which are dropped."""
        flat = torch.cat([_gradient(weight).reshape(-1) for weight in self._weights]).to(self._centroids.dtype)
        self._centroids.grad = self._sums(flat) / self._members
        super().before_step()

    def after_step(self) -> None:
        """Set every weight to the value of its centroid."""
        with torch.no_grad():
            padded = torch.cat([self._centroids.detach(), self._centroids.new_zeros(1)])
            flat = padded[self._index]
            if self._dither is not None:
                flat -= self._dither
            values = torch.split_with_sizes(flat, self._sizes)
            shaped = [value.view_as(weight) for weight, value in zip(self._weights, values, strict=True)]
            torch._foreach_copy_([weight.detach() for weight in self._weights], shaped)

    def state_dict(self) -> dict[str, Any]:
        """A copy of the centroids."""
        return {"centroids": self._centroids.detach().clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the centroids from what ``state_dict`` returned."""
        with torch.no_grad():
            self._centroids.copy_(state["centroids"])
        self.after_step()

    def centroids(self) -> npt.NDArray[np.float32]:
        """The present centroids, shape (k,), float32, in the order of the labels."""
        values: npt.NDArray[np.float32] = self._centroids.detach().cpu().numpy()
        return values


class LabelSums:
    """Sums the entries of each label, always in the same order.

    The entries of a label are laid out in rows of up to 256, which are summed in parallel, and the sums of the rows are
    laid out in rows again until one is left. A GPU's deterministic ``index_add`` adds one entry after another, which
    for a label of most of the weights would take longer than the rest of a training step.

    Args:
        labels: int64, shape (n,); entries whose label is ``count`` or more are in no sum.
        count: number of labels.
        device: device of the entries.

    """

    def __init__(self, labels: npt.NDArray[np.int64], count: int, device: torch.device) -> None:
        self._levels: list[Tensor] = []
        width = min(max(len(labels) // count, 16), 256)  # rows of many small labels would be next to empty
        while True:
            table, labels = _rows(labels, count, width)
            self._levels.append(torch.from_numpy(table).to(device))
            if len(labels) == count:
                break

    def __call__(self, entries: Tensor) -> Tensor:
        """The sum of each label, shape (count,), of ``entries``, shape (n,), in their type."""
        for table in self._levels:
            entries = torch.cat([entries, entries.new_zeros(1)])[table].sum(1)
        return entries


def _rows(labels: npt.NDArray[np.int64], count: int, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Indexes of the entries of each label in rows of ``width``, padded with the index n, and the label of each row.

    Labels are in ascending order. Each label has at least one row, an empty one if need be.
    """
    order = np.argsort(labels, kind="stable")
    members = np.bincount(labels, minlength=count)[:count]
    rows = np.maximum(-(-members // width), 1)
    starts = np.cumsum(rows) - rows
    order = order[: members.sum()]
    within = np.arange(len(order)) - np.repeat(np.cumsum(members) - members, members)
    table = np.full((int(rows.sum()), min(width, int(members.max(initial=1)))), len(labels), np.int64)
    table[np.repeat(starts, members) + within // width, within % width] = order
    return table, np.repeat(np.arange(count), rows)


def sorted_symbols(symbols: Symbols, centroids: npt.NDArray[np.float32]) -> Symbols:
    """``symbols`` with new centroids: sorted ascending, equal ones merged, labels renumbered.

    Args:
        symbols: mask, labels and the former centroids, whose type stays.
        centroids: the new centroids in the order of the labels, shape (k,), float32.

    """
    values = centroids.astype(symbols.centroids.dtype) + 0  # -0 becomes 0
    distinct, position = np.unique(values, return_inverse=True)
    if symbols.labels is None:
        raise ValueError("symbols: without labels there are no centroids to sort. Quantize to labels first.")
    new_labels = position.astype(np.uint8) if len(distinct) <= 256 else position.astype(np.uint16)
    return replace(symbols, labels=new_labels[symbols.labels], centroids=distinct)


def symbols_digest(symbols: Symbols) -> str:
    """SHA-256, hex, of mask, labels, centroids, and what changes centroids locally."""
    labels = [] if symbols.labels is None else [symbols.labels]
    values = arrays.digest([np.packbits(symbols.keep), *labels, symbols.centroids])
    return hashlib.sha256(repr((values, symbols.reconstruction)).encode()).hexdigest()


def _dither_vector(dither: Dither, keep: npt.NDArray[np.bool_]) -> Tensor:
    """The dither of each weight, 0 where the mask ``keep``, bool, shape (n,), prunes it; float32, shape (n,)."""
    flat = np.zeros(len(keep), np.float32)
    kept = np.flatnonzero(keep)
    flat[kept] = dither.values_at(kept)
    return torch.from_numpy(flat)


def _gradient(weight: Tensor) -> Tensor:
    return torch.zeros_like(weight) if weight.grad is None else weight.grad
