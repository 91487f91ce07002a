"""The compressibility loss L(w) = ‖w‖₁ / ‖w‖₂ and its gradient, over tensors that are never concatenated.

Sums over the parts, in float64, give value and gradient, so a net is neither copied nor held twice. The gradient is
the paper's eq. 2, written as (sign(w) - w / c) / ‖w‖₂ with c = ‖w‖₂² / ‖w‖₁, the magnitude of theorem 1: no power
of a norm appears, so weights as small as 1e-38 or as large as 1e38 stay within range. Nothing waits for the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_HALF = (torch.float16, torch.bfloat16)


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
        ones, squares = _sums(weights)
        one, two = ones.sum(), squares.sum().sqrt()
        ctx.save_for_backward(one, two, *weights)
        return _ratio(one, two).to(_result_type(weights))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        one, two, *weights = ctx.saved_tensors
        scale, critical = _coefficients(one, two)
        return tuple(_gradients(weights, outer.to(torch.float64) * scale, critical))


class _LayerWise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, strengths: tuple[float, ...], *weights: Tensor) -> Tensor:
        ones, squares = _sums(weights)
        twos = squares.sqrt()
        factors = torch.tensor(strengths, dtype=torch.float64, device=ones.device)
        ctx.save_for_backward(factors, ones, twos, *weights)
        return (factors * _ratio(ones, twos)).sum().to(_result_type(weights))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        factors, ones, twos, *weights = ctx.saved_tensors
        scales, criticals = _coefficients(ones, twos)
        scales = scales * factors * outer.to(torch.float64)
        gradients = (
            _gradients([weight], scale, critical)[0]
            for weight, scale, critical in zip(weights, scales, criticals, strict=True)
        )
        return (None, *gradients)


def _sums(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Sum of magnitudes and sum of squares of each tensor, float64, shape (tensors,)."""
    parts = list(weights)
    ones = torch._foreach_norm(parts, 1, dtype=torch.float64)
    twos = torch._foreach_norm(parts, 2, dtype=torch.float64)
    return torch.stack(ones), torch.stack(twos).square()


def _ratio(one: Tensor, two: Tensor) -> Tensor:
    return torch.where(two > 0, one / two, 0.0)


def _coefficients(one: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
    """1/‖w‖₂ (0 for zero weights) and the magnitude c of theorem 1 (1 for zero weights)."""
    some = two > 0
    return torch.where(some, 1 / two, 0.0), torch.where(some, two / one * two, 1.0)


def _gradients(weights: Sequence[Tensor], scale: Tensor, critical: Tensor) -> list[Tensor]:
    """``scale`` (sign(w) - w / critical), one tensor a weight, in its type; computed in float32 at the least."""
    wide = [weight.float() if weight.dtype in _HALF else weight for weight in weights]
    dtype = _result_type(wide)
    scale, critical = _within(scale, dtype), _within(critical, dtype)
    gradients = list(torch._foreach_div(wide, critical))
    torch._foreach_sub_(gradients, torch._foreach_sign(wide))
    torch._foreach_mul_(gradients, -scale)
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
