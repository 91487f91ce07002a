"""Training of shared values: each centroid moves, and with it every weight that carries its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.reconstruction import Dither
from cnet.symbols import Symbols
from cnet.training.recover import Fixed


class Shared(Fixed):
    """Weights that are looked up in trained centroids; labels stay, pruned weights stay zero.

    The gradient of a centroid is the sum over its members (Deep Compression, section 3.3). It is divided by their
    number, which makes a plain gradient step the projection of the step that free weights would take, and keeps one
    learning rate right for centroids of ten members and of ten thousand; Adam does not see the difference. Biases
    and batch norm are trained along, in the bundle they cost the same bytes whatever they are. A dither stays as it
    is (Choi, El-Khamy and Lee, 2018).

    Args:
        weights: the compressible tensors in order of w_net.
        symbols: mask, labels and centroids; ``labels`` is not None. Centroids of scaled rows are not trained.

    """

    def __init__(self, weights: Sequence[Tensor], symbols: Symbols) -> None:
        if symbols.labels is None:
            raise ValueError("there are no shared values to train")
        if symbols.local is not None and not isinstance(symbols.local, Dither):
            raise ValueError("centroids that every row scales are not shared values")
        super().__init__(weights)
        self._sizes = [weight.numel() for weight in weights]
        device = weights[0].device
        count = len(symbols.centroids)
        index = np.full(len(symbols.keep), count, np.int64)  # one place more, for the pruned
        index[symbols.keep] = symbols.labels
        self._index = torch.from_numpy(index).to(device)
        members = np.bincount(index, minlength=count + 1)[:count].clip(min=1)
        self._members = torch.from_numpy(members).to(device, torch.float32)
        self._sums = Sums(index, count, device)
        self._centroids = Parameter(torch.from_numpy(symbols.centroids.astype(np.float32)).to(device))
        self._dither = None if symbols.local is None else _dither(symbols.local, symbols.keep).to(device)
        self.after_step()

    def parameters(self, module: torch.nn.Module) -> list[Parameter]:
        """The centroids, and everything that is not looked up in them."""
        return [self._centroids, *super().parameters(module)]

    def before_step(self) -> None:
        """Gather the gradients of the members into their centroid's."""
        flat = torch.cat([_gradient(weight).reshape(-1) for weight in self._weights])
        self._centroids.grad = self._sums(flat) / self._members
        super().before_step()

    def after_step(self) -> None:
        """Look the weights up again."""
        with torch.no_grad():
            padded = torch.cat([self._centroids.detach(), self._centroids.new_zeros(1)])
            flat = padded[self._index]
            if self._dither is not None:
                flat -= self._dither
            values = torch.split_with_sizes(flat, self._sizes)
            shaped = [value.view_as(weight) for weight, value in zip(self._weights, values, strict=True)]
            torch._foreach_copy_([weight.detach() for weight in self._weights], shaped)

    def state_dict(self) -> dict[str, Any]:
        """The centroids."""
        return {"centroids": self._centroids.detach().clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the centroids back."""
        with torch.no_grad():
            self._centroids.copy_(state["centroids"])
        self.after_step()

    def centroids(self) -> npt.NDArray[np.float32]:
        """The centroids as they are now, in the order of the labels."""
        values: npt.NDArray[np.float32] = self._centroids.detach().cpu().numpy()
        return values


class Sums:
    """Sums of the entries that carry the same label, in an order that does not vary.

    Each label's entries are laid out in rows of up to 256, which are summed side by side, and then the rows' sums in
    rows again until one is left. A GPU's deterministic ``index_add`` adds one entry after another, which for a label
    of most of a net takes longer than the rest of a training step.

    Args:
        labels: int64, shape (n,); entries whose label is ``count`` or more count nowhere.
        count: number of labels.
        device: where the entries will lie.

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
        """The sum for each label, shape (count,); ``entries`` has the shape (n,)."""
        for table in self._levels:
            entries = torch.cat([entries, entries.new_zeros(1)])[table].sum(1)
        return entries


def _rows(labels: npt.NDArray[np.int64], count: int, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Places of the entries of each label in rows of ``width``, filled up with the place n, and each row's label.

    Labels come in order, and each has a row, if an empty one.
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
    """``symbols`` with new values of its centroids: ascending, those that became equal merged, labels following."""
    values = centroids.astype(symbols.centroids.dtype) + 0  # -0 becomes 0
    distinct, place = np.unique(values, return_inverse=True)
    if symbols.labels is None:
        raise ValueError("there are no shared values to sort")
    narrow = place.astype(np.uint8) if len(distinct) <= 256 else place.astype(np.uint16)
    return replace(symbols, labels=narrow[symbols.labels], centroids=distinct)


def _dither(dither: Dither, keep: npt.NDArray[np.bool_]) -> Tensor:
    """The dither of each weight that is kept, 0 of the pruned; float32, shape (n,)."""
    flat = np.zeros(len(keep), np.float32)
    places = np.flatnonzero(keep)
    flat[places] = dither.numbers(places)
    return torch.from_numpy(flat)


def _gradient(weight: Tensor) -> Tensor:
    return torch.zeros_like(weight) if weight.grad is None else weight.grad
