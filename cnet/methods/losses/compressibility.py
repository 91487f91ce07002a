"""The compressibility loss L(w) = ‖w‖₁ / ‖w‖₂ and its gradient, over tensors that are never concatenated.

Sums over the parts, in float64, give value and gradient, so a net is neither copied nor held twice. The gradient is
the paper's eq. 2, written as (sign(w) - w / c) / ‖w‖₂ with c = ‖w‖₂² / ‖w‖₁, the magnitude of theorem 1: no power
of a norm appears, so weights as small as 1e-38 or as large as 1e38 stay within range. Nothing waits for the device,
and nothing is copied to it, so that all of it can be recorded in a CUDA graph. ``value_and_gradient`` is what a
training step uses: without autograd a net costs a dozen launches instead of some for each tensor.
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
    """L(w_net) of eq. alt2: ``weights`` count as one vector.

    Args:
        weights: floating-point tensors of any shapes and types on one device.

    Returns:
        A scalar, float32 (float64 where a weight is float64), between 1 and √n; 0, with a gradient of zeros, where
        every weight is zero or there is none. It can be differentiated once.

    """
    if not weights:
        return torch.zeros(())
    return cast(Tensor, _NetWide.apply(*weights))  # type: ignore[no-untyped-call]


@torch.no_grad()
def value_and_gradient(weights: Sequence[Tensor], strength: float) -> tuple[Tensor, list[Tensor]]:
    """``strength`` L(w_net), and its gradient: what autograd makes of ``compressibility``, without autograd.

    Args:
        weights: as in ``compressibility``.
        strength: λ.

    Returns:
        A scalar of that function's type, and for each weight a fresh tensor of its shape and type.

    """
    if not weights:
        return torch.zeros(()), []
    value, two = _net(weights)
    gradients = _gradients(weights, two.reciprocal() * -strength, two / value)
    return (value * strength).to(_result_type(weights)), gradients


def layerwise(weights: Sequence[Tensor], strengths: Sequence[float]) -> Tensor:
    """Σ λᵢ L(wᵢ) of eq. alt1: each tensor is a layer of its own, with the strength at the same place.

    Same types, range and conventions as ``compressibility``.
    """
    if not weights:
        return torch.zeros(())
    return cast(Tensor, _LayerWise.apply(tuple(strengths), *weights))  # type: ignore[no-untyped-call]


class _NetWide(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> Tensor:
        value, two = _net(weights)
        ctx.save_for_backward(value, two, *weights)
        return value.to(_result_type(weights))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        value, two, *weights = ctx.saved_tensors
        return tuple(_gradients(weights, -outer.to(torch.float64) / two, two / value))


class _LayerWise(torch.autograd.Function):
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


def _net(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """L and ‖w‖₂ of the whole net, float64 scalars; of zeros 0 and the least number that can be divided by."""
    ones, twos = _norms(weights)
    two = torch.linalg.vector_norm(twos).clamp_(min=_TINY)
    return ones.sum() / two, two


def _norms(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Sum of magnitudes and Euclidean norm of each tensor, float64, shape (tensors,) each."""
    parts = list(weights)
    ones = torch._foreach_norm(parts, 1, dtype=torch.float64)
    twos = torch._foreach_norm(parts, 2, dtype=torch.float64)
    both = torch.stack([*ones, *twos])
    return both[: len(parts)], both[len(parts) :]


def _times(values: Tensor, factors: Sequence[float]) -> Tensor:
    """Entry by entry; the factors reach the device with the launch, a copy of their own would have to wait."""
    return torch.stack(torch._foreach_mul(list(values.unbind()), list(factors)))


def _gradients(weights: Sequence[Tensor], scale: Tensor, critical: Tensor) -> list[Tensor]:
    """``scale`` (w / critical - sign(w)), one tensor a weight, in its type; computed in float32 at the least.

    ``critical`` is the magnitude c of theorem 1, and infinite where all weights are zero.
    """
    wide = [weight.float() if weight.dtype in _HALF else weight for weight in weights]
    dtype = _result_type(wide)
    gradients = list(torch._foreach_div(wide, _within(critical, dtype)))
    torch._foreach_sub_(gradients, torch._foreach_sign(wide))
    torch._foreach_mul_(gradients, _within(scale, dtype))
    return [_narrow(gradient, weight.dtype) for gradient, weight in zip(gradients, weights, strict=True)]


def _within(scalar: Tensor, dtype: torch.dtype) -> Tensor:
    """A float64 scalar in ``dtype``, saturated: out of range is the largest number, not infinity."""
    limit = torch.finfo(dtype).max
    return scalar.clamp(-limit, limit).to(dtype)


def _narrow(gradient: Tensor, dtype: torch.dtype) -> Tensor:
    if gradient.dtype == dtype:
        return gradient
    limit = torch.finfo(dtype).max
    return gradient.clamp_(-limit, limit).to(dtype)


def _result_type(weights: Sequence[Tensor]) -> torch.dtype:
    return torch.float64 if any(weight.dtype == torch.float64 for weight in weights) else torch.float32
