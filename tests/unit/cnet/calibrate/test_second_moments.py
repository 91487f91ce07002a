"""Second moments of inputs, and what is found from them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cnet.calibrate.second_moments import SHRINKAGES, FeedbackFactors, Moments, choose_shrinkage, compensated, shrink


def inputs(seed: int, samples: int, columns: int = 12, mixing_seed: int = 9) -> Tensor:
    """Correlated inputs, shape (1, samples, columns); the correlations follow from ``mixing_seed``."""
    mixing = torch.randn(columns, columns, generator=torch.Generator().manual_seed(mixing_seed))
    return (torch.randn(samples, columns, generator=torch.Generator().manual_seed(seed)) @ mixing)[None]


def test_moments_do_not_depend_on_the_order_of_samples() -> None:
    """Nor on how they are divided into batches."""
    vectors = inputs(0, 5000)
    order = torch.randperm(5000, generator=torch.Generator().manual_seed(1))

    one = Moments.of(vectors, vectors)
    other = Moments.of(vectors[:, order[:700]], vectors[:, order[:700]])
    other += Moments.of(vectors[:, order[700:]], vectors[:, order[700:]])

    torch.testing.assert_close(one.own, other.own, rtol=1e-12, atol=1e-12)
    assert other.count == 5000


def test_the_factor_is_that_of_the_inverse() -> None:
    """U^T U times H is the identity."""
    own = Moments.of(inputs(0, 200), inputs(0, 200)).own

    upper = FeedbackFactors.of(own, 0.1).upper

    assert torch.equal(upper, upper.triu())
    torch.testing.assert_close(
        upper.transpose(1, 2) @ upper @ shrink(own, 0.1), torch.eye(12, dtype=torch.float64)[None]
    )


def test_many_samples_are_shrunk_little_and_few_of_another_kind_a_lot() -> None:
    """Correlations that hold on the other half are used, those that do not are dropped."""
    alike = tuple(Moments.of(inputs(seed, 4000), inputs(seed, 4000)) for seed in (1, 2))
    unlike = tuple(
        Moments.of(inputs(seed, 20, mixing_seed=seed), inputs(seed, 20, mixing_seed=seed)) for seed in (1, 2)
    )

    assert choose_shrinkage((alike[0], alike[1])) == SHRINKAGES[0]
    assert choose_shrinkage((unlike[0], unlike[1])) == SHRINKAGES[-1]


def test_one_half_alone_lets_nothing_be_passed_on() -> None:
    """What cannot be judged is not done."""
    half = Moments.of(inputs(0, 50), inputs(0, 50))

    assert choose_shrinkage((half, Moments.none(torch.zeros(1, 3, 12)))) == SHRINKAGES[-1]


def test_what_is_added_is_alike_for_all_inputs() -> None:
    """Also for one that was always 0, so that errors do not gather there."""
    own = torch.diag(torch.tensor([4.0, 2.0, 0.0], dtype=torch.float64))[None]

    torch.testing.assert_close(
        torch.diagonal(shrink(own, 0.5)[0]) - torch.diagonal(own[0]), torch.full((3,), 1.0002, dtype=torch.float64)
    )


def test_errors_do_not_gather_at_inputs_that_were_weak_on_few_samples() -> None:
    """On other samples, whose weak inputs are others, they cost less than after shrinking towards the own diagonal."""
    mixing = inputs(3, 12)[0]

    def half(weak: slice) -> Moments:
        vectors = (inputs(5, 2000) @ mixing).abs()
        vectors[..., weak] *= 0.01
        return Moments.of(vectors, vectors)

    halves = half(slice(0, 3)), half(slice(3, 6))
    shrinkage = choose_shrinkage(halves)

    for one, other in (halves, halves[::-1]):
        towards_diagonal = one.own + torch.diag_embed(one.power)
        of_diagonal = FeedbackFactors.of(towards_diagonal, 0.0).expected_error(other.own)
        found = FeedbackFactors.of(one.own, shrinkage).expected_error(other.own)
        assert found < min(of_diagonal, float(other.power.sum()))


def test_compensated_weights_undo_a_change_of_scale() -> None:
    """Where the layers before have doubled all inputs, the weights are halved."""
    weights = torch.randn(1, 4, 12, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    first, second = (Moments.of(inputs(seed, 3000), 2 * inputs(seed, 3000)) for seed in (1, 2))

    found = compensated(weights, (first, second), 0.0)

    torch.testing.assert_close(found, weights / 2, rtol=1e-2, atol=5e-3)


@pytest.mark.parametrize("count", [4, 40])
def test_weights_stay_where_the_change_of_inputs_is_noise(count: int) -> None:
    """A move that does not help the other half is not made."""
    weights = torch.randn(1, 4, 12, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    halves = [
        Moments.of(inputs(seed, count), inputs(seed, count) + 0.3 * inputs(seed + 7, count, mixing_seed=seed + 7))
        for seed in (1, 2)
    ]

    moved = compensated(weights, (halves[0], halves[1]), 0.1) - weights

    assert float(moved.norm() / weights.norm()) < 0.5
