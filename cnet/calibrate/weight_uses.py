"""Uses of weights in a network: the operations, the weight as a matrix, and the inputs that it multiplies.

Each kind of operation is looked at as W x for many vectors x, with W of the shape (groups, rows, columns): the patches
under a convolution's kernel, all leading axes of a linear layer. Weights that are used in any other way are quantized
as well, but no inputs of theirs are known.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cnet.calibrate.lockstep import Call


@dataclass(frozen=True)
class WeightUse(ABC):
    """A use of one weight.

    Attributes:
        weight: position of the weight among the arguments of the call.
        bias: position of the bias.
    """

    weight: int = 1
    bias: int = 2

    @abstractmethod
    def matrix(self, weight: Tensor, call: Call) -> Tensor:
        """A weight as (groups, rows, columns); a view."""

    @abstractmethod
    def inputs(self, call: Call, limit: int, generator: torch.Generator) -> Tensor:
        """The vectors that the weight multiplies: shape (groups, vectors, columns), in the type of the input.

        Args:
            call: of one batch.
            limit: how many vectors are enough; they are drawn where there are more.
            generator: of the draws, on the CPU.
        """

    @abstractmethod
    def channel_means(self, result: Tensor) -> Tensor:
        """The mean of each output channel, float64, shape (channels,)."""

    @abstractmethod
    def by_channel(self, numbers: Tensor, result: Tensor) -> Tensor:
        """The numbers in a shape in which they can be added to ``result``.

        Args:
            numbers: one for each output channel, shape (channels,).
            result: of the operation, shape (batch, ...).
        """


@dataclass(frozen=True)
class LinearUse(WeightUse):
    """A weight of shape (rows, columns) that multiplies the last axis of the input."""

    def matrix(self, weight: Tensor, call: Call) -> Tensor:
        """As ``WeightUse.matrix``: one group."""
        del call
        return weight[None]

    def inputs(self, call: Call, limit: int, generator: torch.Generator) -> Tensor:
        """As ``WeightUse.inputs``."""
        given: Tensor = call.args[0]
        vectors = given.reshape(-1, given.shape[-1])
        return vectors[_drawn(len(vectors), limit, generator, given.device)][None]

    def channel_means(self, result: Tensor) -> Tensor:
        """As ``WeightUse.channel_means``."""
        return result.reshape(-1, result.shape[-1]).double().mean(0)

    def by_channel(self, numbers: Tensor, result: Tensor) -> Tensor:
        """As ``WeightUse.by_channel``."""
        return numbers.to(result.dtype)


@dataclass(frozen=True)
class ConvolutionUse(WeightUse):
    """A kernel of shape (rows, columns, ...) that is moved over an input of shape (batch, channels, ...)."""

    def matrix(self, weight: Tensor, call: Call) -> Tensor:
        """As ``WeightUse.matrix``: the groups of the convolution."""
        groups = _Convolution.of(call).groups
        return weight.reshape(groups, len(weight) // groups, -1)

    def inputs(self, call: Call, limit: int, generator: torch.Generator) -> Tensor:
        """As ``WeightUse.inputs``: the patches under the kernel at some positions, the same in all samples."""
        convolution = _Convolution.of(call)
        given = convolution.padded(call.args[0])
        kernel = call.args[1].shape[2:]
        sides = [
            (size - dilation * (width - 1) - 1) // stride + 1
            for size, dilation, width, stride in zip(
                given.shape[2:], convolution.dilation, kernel, convolution.stride, strict=True
            )
        ]
        positions = _drawn(math.prod(sides), -(-limit // max(len(given), 1)), generator, given.device)
        places = _patches(positions, sides, tuple(given.shape[2:]), tuple(kernel), convolution)
        patches = given.flatten(2)[:, :, places]  # (batch, channels, positions, kernel)
        batch, channels = patches.shape[:2]
        width = channels // convolution.groups
        grouped = patches.reshape(batch, convolution.groups, width, len(positions), -1).permute(1, 0, 3, 2, 4)
        return grouped.reshape(convolution.groups, batch * len(positions), -1)

    def channel_means(self, result: Tensor) -> Tensor:
        """As ``WeightUse.channel_means``."""
        return result.transpose(0, 1).flatten(1).double().mean(1)

    def by_channel(self, numbers: Tensor, result: Tensor) -> Tensor:
        """As ``WeightUse.by_channel``."""
        return numbers.to(result.dtype).reshape(-1, *[1] * (result.dim() - 2))


@dataclass(frozen=True)
class _Convolution:
    """The settings of a convolution, each with a number for each axis of the kernel."""

    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int

    @classmethod
    def of(cls, call: Call) -> _Convolution:
        kernel = call.args[1].shape[2:]
        named = ("stride", "padding", "dilation", "groups")
        defaults = (1, 0, 1, 1)
        given = [
            call.args[3 + index] if len(call.args) > 3 + index else call.kwargs.get(name, default)
            for index, (name, default) in enumerate(zip(named, defaults, strict=True))
        ]
        dilation = _for_each(given[2], len(kernel))
        if given[1] == "same":
            totals = [step * (width - 1) for step, width in zip(dilation, kernel, strict=True)]
            padding = tuple((total // 2, total - total // 2) for total in totals)
        else:
            sides = _for_each(0 if given[1] == "valid" else given[1], len(kernel))
            padding = tuple((side, side) for side in sides)
        return cls(_for_each(given[0], len(kernel)), padding, dilation, int(given[3]))

    def padded(self, given: Tensor) -> Tensor:
        sides = [side for pair in reversed(self.padding) for side in pair]
        return functional.pad(given, sides) if any(sides) else given


def _for_each(given: Any, axes: int) -> tuple[int, ...]:
    numbers = tuple(given) if isinstance(given, Sequence) else (int(given),)
    return numbers if len(numbers) == axes else numbers * axes


def _patches(
    positions: Tensor, sides: Sequence[int], size: tuple[int, ...], kernel: tuple[int, ...], convolution: _Convolution
) -> Tensor:
    """Places of the entries of the kernel in the flattened, padded input: int64, shape (positions, kernel)."""
    offsets = torch.tensor(
        [
            _flat([step * place for step, place in zip(convolution.dilation, places, strict=True)], size)
            for places in product(*(range(width) for width in kernel))
        ],
        device=positions.device,
    )
    starts, rest = torch.zeros_like(positions), positions
    for axis in reversed(range(len(sides))):
        scale = math.prod(size[axis + 1 :])
        starts = starts + (rest % sides[axis]) * convolution.stride[axis] * scale
        rest = rest // sides[axis]
    return starts[:, None] + offsets


def _flat(places: Sequence[int], size: tuple[int, ...]) -> int:
    flat = 0
    for place, side in zip(places, size, strict=True):
        flat = flat * side + place
    return flat


def drawn_vectors(vectors: Tensor, limit: int, seed: int) -> Tensor:
    """Up to ``limit`` of the vectors along the last axis: shape (1, vectors, columns).

    Args:
        vectors: shape (..., columns).
        limit: how many are enough.
        seed: of the draw; equal seeds draw the same ones.
    """
    flat = vectors.reshape(-1, vectors.shape[-1])
    return flat[_drawn(len(flat), limit, torch.Generator().manual_seed(seed), flat.device)][None]


def _drawn(count: int, limit: int, generator: torch.Generator, device: torch.device) -> Tensor:
    """Up to ``limit`` indexes below ``count``, ascending, without repetition."""
    if count <= limit:
        return torch.arange(count, device=device)
    return torch.randperm(count, generator=generator)[:limit].sort()[0].to(device)


_USES: Mapping[str, WeightUse] = {
    "linear": LinearUse(),
    **{f"conv{axes}d": ConvolutionUse() for axes in (1, 2, 3)},
}


def use_of(function: Callable[..., Any]) -> WeightUse | None:
    """The kind of use that a PyTorch function makes of a weight; None where it is of no known kind."""
    return _USES.get(operation_name(function))


def operation_name(function: Callable[..., Any]) -> str:
    """The name of a PyTorch function, the same for ``torch.conv2d`` and for ``torch.ops.aten.conv2d.default``."""
    if isinstance(function, torch._ops.OpOverload):
        return str(function.overloadpacket.__name__)
    return str(getattr(function, "__name__", ""))
