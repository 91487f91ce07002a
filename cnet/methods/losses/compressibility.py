"""The compressibility loss L(w) = ‖w‖₁ / ‖w‖₂ and its gradient, over several tensors that are never concatenated.

Value and gradient are computed from float64 sums over the tensors, so that the weights are neither copied nor held
twice. The gradient is the paper's eq. 2, written as (sign(w) - w / c) / ‖w‖₂ with c = ‖w‖₂² / ‖w‖₁, the magnitude of
theorem 1: no power of a norm appears, so that weights as small as 1e-38 or as large as 1e38 stay within range. No
operation waits for the device or copies anything to it, so that a CUDA graph can record all of them. A training step
uses ``value_and_gradient``: without autograd a network costs a dozen launches instead of some for each tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_HALF = (torch.float16, torch.bfloat16)
_TINY = torch.finfo(torch.float64).tiny


def compressibility(weights: Sequence[Tensor]) -> Tensor:
    """L(w_net), eq. alt2: the loss of all ``weights`` taken as one vector.

    Args:
        weights: floating-point tensors of any shape and type, on one device.

    Returns:
        A scalar, float32 (float64 if a tensor is float64), between 1 and √n, which can be differentiated once. It is 0,
        with a gradient of zeros, if every weight is zero or there is no weight.

    """
    if not weights:
        return torch.zeros(())
    return cast(Tensor, _NetworkWideLoss.apply(*weights))  # type: ignore[no-untyped-call]


@torch.no_grad()
def value_and_gradient(weights: Sequence[Tensor], strength: float) -> tuple[Tensor, list[Tensor]]:
    """``strength`` times L(w_net) and its gradient, computed without autograd.

    Args:
        weights: as in ``compressibility``.
        strength: λ.

    Returns:
        A scalar of the type that ``compressibility`` returns, and a new tensor of the shape and type of each tensor.

    """
    if not weights:
        return torch.zeros(()), []
    value, two = _loss_and_norm(weights)
    gradients = _gradients(weights, two.reciprocal() * -strength, two / value)
    return (value * strength).to(_result_type(weights)), gradients


def layerwise(weights: Sequence[Tensor], strengths: Sequence[float]) -> Tensor:
    """Σ λᵢ L(wᵢ), eq. alt1: the weighted sum of the losses of single tensors.

    Types and the result for zeros are as in ``compressibility``.

    Args:
        weights: the tensors wᵢ, as in ``compressibility``.
        strengths: the strengths λᵢ in the same order.

    """
    if not weights:
        return torch.zeros(())
    return cast(Tensor, _LayerWiseLoss.apply(tuple(strengths), *weights))  # type: ignore[no-untyped-call]


class _NetworkWideLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> Tensor:
        value, two = _loss_and_norm(weights)
        ctx.save_for_backward(value, two, *weights)
        return value.to(_result_type(weights))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        value, two, *weights = ctx.saved_tensors
        return tuple(_gradients(weights, -outer.to(torch.float64) / two, two / value))


class _LayerWiseLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, strengths: tuple[float, ...], *weights: Tensor) -> Tensor:
        ones, twos = _norms(weights)
        twos = twos.clamp(min=_TINY)
        values = ones / twos
        ctx.strengths = strengths
        ctx.save_for_backward(values, twos, *weights)
        return _times(values, strengths).sum().to(_result_type(weights))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        values, twos, *weights = ctx.saved_tensors
        scales = _times(-outer.to(torch.float64) / twos, ctx.strengths)
        gradients = (
            _gradients([weight], scale, critical)[0]
            for weight, scale, critical in zip(weights, scales, twos / values, strict=True)
        )
        return (None, *gradients)


def _loss_and_norm(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """L and ‖w‖₂ of all tensors, float64 scalars; if all weights are zero, 0 and the smallest normal number."""
    ones, twos = _norms(weights)
    two = torch.linalg.vector_norm(twos).clamp_(min=_TINY)
    return ones.sum() / two, two


def _norms(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The l1 and the l2 norm of each tensor, each of shape (tensors,), float64."""
    parts = list(weights)
    ones = torch._foreach_norm(parts, 1, dtype=torch.float64)
    twos = torch._foreach_norm(parts, 2, dtype=torch.float64)
    both = torch.stack([*ones, *twos])
    return both[: len(parts)], both[len(parts) :]


def _times(values: Tensor, factors: Sequence[float]) -> Tensor:
    """Entrywise product, shape (k,); the launch carries the factors, so that no copy to the device is needed."""
    return torch.stack(torch._foreach_mul(list(values.unbind()), list(factors)))


def _gradients(weights: Sequence[Tensor], scale: Tensor, critical: Tensor) -> list[Tensor]:
    """``scale`` times (w / critical - sign(w)) for each tensor w, in its type; computed in float32 or float64.

    ``critical`` is the magnitude c of theorem 1, infinite if all weights are zero.
    """
    wide = [weight.float() if weight.dtype in _HALF else weight for weight in weights]
    dtype = _result_type(wide)
    gradients = list(torch._foreach_div(wide, _within(critical, dtype)))
    torch._foreach_sub_(gradients, torch._foreach_sign(wide))
    torch._foreach_mul_(gradients, _within(scale, dtype))
    return [_narrow(gradient, weight.dtype) for gradient, weight in zip(gradients, weights, strict=True)]


def _within(scalar: Tensor, dtype: torch.dtype) -> Tensor:
    """A float64 scalar in ``dtype``; a value out of range becomes the largest number, not infinity."""
    limit = torch.finfo(dtype).max
    return scalar.clamp(-limit, limit).to(dtype)


def _narrow(gradient: Tensor, dtype: torch.dtype) -> Tensor:
    if gradient.dtype == dtype:
        return gradient
    limit = torch.finfo(dtype).max
    return gradient.clamp_(-limit, limit).to(dtype)


def _result_type(weights: Sequence[Tensor]) -> torch.dtype:
    return torch.float64 if any(weight.dtype == torch.float64 for weight in weights) else torch.float32
