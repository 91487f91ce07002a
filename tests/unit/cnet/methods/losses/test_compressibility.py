"""The paper's theory, tested as properties of the compressibility loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cnet.methods.losses.compressibility import compressibility, layerwise, value_and_gradient

SHAPES = ((3, 4), (5,), (2, 1, 3, 3), (1, 1))
seeds = st.integers(0, 2**31)
strengths = st.lists(st.floats(0, 2), min_size=len(SHAPES), max_size=len(SHAPES))


def parts(seed: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Random tensors of several shapes, a few entries exactly zero."""
    random = torch.Generator().manual_seed(seed)
    tensors = [torch.randn(shape, generator=random, dtype=torch.float64) for shape in SHAPES]
    tensors[0][0, :2] = 0
    return [tensor.to(dtype).requires_grad_() for tensor in tensors]


def naive(tensors: list[Tensor]) -> Tensor:
    """The loss computed from its definition on one float64 vector."""
    vector = torch.cat([tensor.reshape(-1).double() for tensor in tensors])
    return vector.abs().sum() / vector.square().sum().sqrt()


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_value_and_gradient_are_those_of_the_concatenated_vector(seed: int) -> None:
    """Autograd through the definition gives the same numbers (eq. 1, 2 and alt2)."""
    tensors = parts(seed)
    expected = naive(tensors)
    gradients = torch.autograd.grad(expected, tensors)
    loss = compressibility(tensors)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    for ours, theirs in zip(torch.autograd.grad(loss, tensors), gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_gradient_equals_finite_differences() -> None:
    """Away from zero entries the gradient is the limit of difference quotients."""
    tensors = [tensor.detach().add(2.5).requires_grad_() for tensor in parts(3)]
    assert torch.autograd.gradcheck(lambda *weights: compressibility(weights), tensors, eps=1e-6)


def test_layerwise_gradient_equals_finite_differences() -> None:
    """The gradient of the loss by layers is the limit of difference quotients."""
    tensors = [tensor.detach().add(2.5).requires_grad_() for tensor in parts(4)]
    assert torch.autograd.gradcheck(lambda *weights: layerwise(weights, (0.1, 0.2, 3.0, 1.0)), tensors, eps=1e-6)


@given(seeds, strengths)
@settings(max_examples=30, deadline=None)
def test_layerwise_is_the_weighted_sum_of_layers(seed: int, factors: list[float]) -> None:
    """Each tensor has its own loss and strength (eq. alt1)."""
    tensors = parts(seed)
    loss = layerwise(tensors, factors)
    expected = sum((f * naive([t]) for f, t in zip(factors, tensors, strict=True)), torch.zeros(()))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12, abs=1e-12)
    for ours, theirs in zip(torch.autograd.grad(loss, tensors), torch.autograd.grad(expected, tensors), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=60), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_ternary_vectors_are_critical_points(signs: list[float], size: float) -> None:
    """Theorem 1 and its corollary: at {-c, 0, c} the gradient is zero and L is the root of the non-zeros."""
    vector = (torch.tensor(signs, dtype=torch.float64) * size).requires_grad_()
    loss = compressibility([vector])
    (gradient,) = torch.autograd.grad(loss, [vector])
    assert loss.item() == pytest.approx(math.sqrt(np.count_nonzero(signs)), rel=1e-12)
    assert gradient.abs().max().item() * size <= 1e-12


@given(st.integers(2, 20), st.floats(1e-6, 1e-2), st.sampled_from([-1, 1]))
@settings(deadline=None)
def test_critical_points_are_minima_where_a_zero_moves(count: int, step: float, sign: int) -> None:
    """Theorem 2: moving a zero away from zero raises the loss."""
    vector = torch.ones(count, dtype=torch.float64)
    vector[0] = 0
    moved = vector.clone()
    moved[0] = sign * step
    assert compressibility([moved]).item() > compressibility([vector]).item()


@given(seeds, st.floats(-30, 30))
@settings(max_examples=30, deadline=None)
def test_scale_does_not_matter(seed: int, exponent: float) -> None:
    """L(s w) = L(w), and the gradient shrinks by s."""
    tensors = parts(seed)
    scaled = [(tensor.detach() * 10**exponent).requires_grad_() for tensor in tensors]
    loss, other = compressibility(tensors), compressibility(scaled)
    assert other.item() == pytest.approx(loss.item(), rel=1e-12)
    for before, after in zip(torch.autograd.grad(loss, tensors), torch.autograd.grad(other, scaled), strict=True):
        torch.testing.assert_close(after * 10**exponent, before, rtol=1e-9, atol=1e-11)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_gradient_is_orthogonal_to_the_weights(seed: int) -> None:
    """The loss does not depend on scale, so its slope along the weights is zero."""
    tensors = parts(seed)
    gradients = torch.autograd.grad(compressibility(tensors), tensors)
    along = sum((g * t.detach()).sum().item() for g, t in zip(gradients, tensors, strict=True))
    assert abs(along) < 1e-12


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_value_lies_between_one_and_the_root_of_the_length(seed: int) -> None:
    """The loss is 1 for a single non-zero and √n for equal magnitudes."""
    tensors = parts(seed)
    assert 1 <= compressibility(tensors).item() <= math.sqrt(sum(t.numel() for t in tensors))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_all_zero_weights_give_zero_and_no_nan(dtype: torch.dtype) -> None:
    """Where the quotient is 0/0 the loss and its gradient are 0."""
    tensors = [torch.zeros(shape, dtype=dtype, requires_grad=True) for shape in SHAPES]
    for loss in (compressibility(tensors), layerwise(tensors, [1.0] * len(SHAPES))):
        assert loss.item() == 0
        assert all((g == 0).all() for g in torch.autograd.grad(loss, tensors))


def test_one_zero_layer_does_not_disturb_the_others() -> None:
    """In the loss by layers, a layer of zeros counts 0."""
    layers = [torch.zeros(4, requires_grad=True), torch.ones(9, requires_grad=True)]
    loss = layerwise(layers, (1.0, 2.0))
    assert loss.item() == 6
    assert all(g.isfinite().all() for g in torch.autograd.grad(loss, layers))


def test_no_weights_at_all_give_zero() -> None:
    """The loss of no tensors is 0."""
    assert compressibility([]).item() == 0
    assert layerwise([], []).item() == 0


def test_an_empty_tensor_counts_nothing() -> None:
    """A tensor without elements changes no sum."""
    empty, full = torch.zeros((0, 3), requires_grad=True), torch.ones(4, requires_grad=True)
    loss = compressibility([empty, full])
    assert loss.item() == 2
    assert [g.shape for g in torch.autograd.grad(loss, [empty, full])] == [(0, 3), (4,)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_half_precision_weights_are_summed_without_loss(dtype: torch.dtype, tolerance: float) -> None:
    """Sums are float64; only the gradient is rounded to the weights' type."""
    tensors = parts(11, dtype)
    wide = [tensor.detach().double().requires_grad_() for tensor in tensors]
    loss, expected = compressibility(tensors), naive(wide)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    for ours, theirs in zip(torch.autograd.grad(loss, tensors), torch.autograd.grad(expected, wide), strict=True):
        assert ours.dtype == dtype
        torch.testing.assert_close(ours.double(), theirs, rtol=tolerance, atol=tolerance * 1e-2)


def test_squares_below_half_precision_still_count() -> None:
    """float16 squares of 1e-5 are 0; the loss of n equal values is √n all the same."""
    tiny = torch.full((400,), 1e-5, dtype=torch.float16)
    assert compressibility([tiny]).item() == pytest.approx(20)


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e30, 1e38])
def test_extreme_scales_stay_in_range(scale: float) -> None:
    """Norms whose squares leave float32 give the right value and gradient."""
    weights = (torch.tensor([1.0, -2.0, 0.0, 3.0], dtype=torch.float64) * scale).float().requires_grad_()
    wide = weights.detach().double().requires_grad_()
    loss, expected = compressibility([weights]), naive([wide])
    (ours,), (theirs,) = torch.autograd.grad(loss, [weights]), torch.autograd.grad(expected, [wide])
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(ours.double() * scale, theirs * scale, rtol=1e-4, atol=1e-5)


def test_many_equal_values_sum_exactly_enough() -> None:
    """A million values of 1e-3: a float32 running sum would be off in the third digit."""
    weights = torch.full((1000, 1000), 1e-3)
    assert compressibility([weights]).item() == pytest.approx(1000, rel=1e-6)


def test_loss_adds_to_a_task_loss_with_its_factor() -> None:
    """The upstream gradient scales the gradient of the loss."""
    weights = torch.tensor([3.0, 4.0, 1.0], requires_grad=True)
    (once,) = torch.autograd.grad(compressibility([weights]), [weights])
    (thrice,) = torch.autograd.grad(3 * compressibility([weights]), [weights])
    torch.testing.assert_close(thrice, 3 * once)


def test_non_contiguous_weights_get_their_gradient_in_place() -> None:
    """A transposed weight has a transposed gradient."""
    base = torch.randn((3, 5), generator=torch.Generator().manual_seed(0))
    plain, turned = base.clone().requires_grad_(), base.t().contiguous().t().requires_grad_()
    (expected,) = torch.autograd.grad(compressibility([plain]), [plain])
    (gradient,) = torch.autograd.grad(compressibility([turned]), [turned])
    torch.testing.assert_close(gradient, expected)


def differentiated(weights: list[Tensor], strength: float) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Value and gradient of the loss times ``strength``, computed by autograd."""
    loss = strength * compressibility(weights)
    return loss, torch.autograd.grad(loss, weights)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("exponent", [-6, 0, 4])
def test_value_and_gradient_without_autograd_are_the_same(dtype: torch.dtype, exponent: int) -> None:
    """Types, shapes and strides are those of the weights, at small and large strengths."""
    weights = [(tensor.detach() * 10.0**exponent).to(dtype).requires_grad_() for tensor in parts(5)]
    weights.append(weights[0].detach().t().requires_grad_())
    for strength in (0.045, 45_000.0):
        expected, slopes = differentiated(weights, strength)
        value, gradients = value_and_gradient(weights, strength)
        assert (value.dtype, value.requires_grad) == (expected.dtype, False)
        assert value.item() == pytest.approx(expected.item(), rel=1e-6)
        for ours, theirs, weight in zip(gradients, slopes, weights, strict=True):
            assert (ours.dtype, ours.stride()) == (dtype, weight.stride())
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e30, 1e38])
def test_extreme_scales_stay_in_range_without_autograd(scale: float) -> None:
    """Norms whose squares leave float32 give the right value and gradient."""
    weights = (torch.tensor([1.0, -2.0, 0.0, 3.0], dtype=torch.float64) * scale).float().requires_grad_()
    wide = weights.detach().double().requires_grad_()
    expected = naive([wide])
    (theirs,) = torch.autograd.grad(expected, [wide])
    value, (ours,) = value_and_gradient([weights], 1.0)
    assert value.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(ours.double() * scale, theirs * scale, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_zero_weights_and_none_have_no_gradient(dtype: torch.dtype) -> None:
    """Empty tensors have none either."""
    value, gradients = value_and_gradient([torch.zeros(3, dtype=dtype), torch.zeros((0, 2), dtype=dtype)], 0.5)
    assert value.item() == 0
    assert [gradient.tolist() for gradient in gradients] == [[0, 0, 0], []]
    value, gradients = value_and_gradient([], 0.5)
    assert (value.item(), gradients) == (0, [])
