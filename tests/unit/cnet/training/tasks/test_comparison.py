"""How outputs differ from those of the original network."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from cnet.training.tasks.comparison import MOST_DB, ClassComparison, NumberComparison


def numbers(*shape: int) -> Tensor:
    """Normally distributed, the same in each call."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def snr(outputs: Tensor, expected: Tensor) -> float:
    """Of some outputs, in dB."""
    return NumberComparison.of(expected).compare(outputs, expected)["output_snr_db"]


def test_classes_are_compared_by_their_probabilities() -> None:
    """A common addend changes nothing; two classes of 1/2 each are log 2 away from a sure one."""
    expected = torch.tensor([[0.0, 0.0], [100.0, 0.0]])
    outputs = torch.tensor([[5.0, 5.0], [3.0, 3.0]])

    found = ClassComparison().compare(outputs, expected)

    assert found == {"kl": pytest.approx(math.log(2) / 2), "agreement": 100}
    assert ClassComparison().divergence(outputs, expected).item() == pytest.approx(math.log(2) / 2)


@pytest.mark.parametrize(("shape", "count"), [((7, 5), 1), ((7, 3, 5), 3), ((7, 5, 2, 4), 8)])
def test_decisions_of_classes(shape: tuple[int, ...], count: int) -> None:
    """One for each row of logits of a sample."""
    assert ClassComparison().decisions(torch.zeros(shape)) == count


@pytest.mark.parametrize("shape", [(400,), (400, 1), (400, 3), (100, 50, 3), (100, 3, 50), (50, 3, 8, 8)])
def test_noise_of_a_tenth_of_the_deviation_is_20_db_below(shape: tuple[int, ...]) -> None:
    """Whatever the shape, the unit and the mean of the numbers."""
    expected = 70 * numbers(*shape) + 3000
    noise = 7 * torch.randn(shape, generator=torch.Generator().manual_seed(1))

    assert snr(expected + noise, expected) == pytest.approx(20, abs=0.8)
    assert NumberComparison.of(expected).divergence(expected + noise, expected).item() == pytest.approx(0.08, rel=0.2)


@pytest.mark.parametrize("shape", [(2,), (50, 2), (2, 50), (2, 5, 5)])
def test_each_channel_counts_by_its_own_unit(shape: tuple[int, ...]) -> None:
    """A price of many thousands does not hide that a probability is lost."""
    channels = [2 if size == 2 else 1 for size in shape]
    units = torch.tensor([1e5, 0.1]).reshape(channels)
    expected = units * numbers(200, *shape)
    lost = expected * torch.tensor([1.0, 0.0]).reshape(channels)

    assert snr(lost, expected) == pytest.approx(3, abs=0.5)


def test_a_channel_that_never_changes_counts_as_the_others() -> None:
    """Of a dead unit, or a constant one, an error is as bad as elsewhere."""
    expected = numbers(300, 4)
    expected[:, 1], expected[:, 2] = 0.0, 5.0
    moved = expected.clone()
    moved[:, 1] += 0.1
    moved[:, 2] += 0.1

    assert snr(moved, expected) == pytest.approx(23, abs=0.7)


@pytest.mark.parametrize("expected", [torch.full((5, 3), 4.0), torch.full((1, 3), 4.0), torch.full((5,), 4.0)])
def test_constant_outputs_count_by_their_size(expected: Tensor) -> None:
    """There is no spread to compare an error with."""
    assert snr(1.1 * expected, expected) == pytest.approx(20, abs=0.01)


def test_a_few_numbers_far_away_neither_hide_errors_nor_dominate() -> None:
    """A strange input gives outputs a thousand times as large, with an error of as many times."""
    expected = numbers(200, 3)
    outputs = expected + 0.01 * numbers(3, 200).T
    honest = snr(outputs, expected)
    expected[7] *= 1000
    outputs[7] = 1.01 * expected[7]

    assert snr(outputs, expected) == pytest.approx(honest, abs=0.5)
    assert snr(expected + 1.0, expected) == pytest.approx(0, abs=1)


def test_a_channel_of_rare_events_is_measured() -> None:
    """All of its numbers count where nearly all of them are the same."""
    expected = torch.zeros(300, 1)
    expected[:3] = 5.0

    assert snr(torch.zeros(300, 1), expected) < 1


def test_a_spread_beside_a_large_mean_is_measured() -> None:
    """A thousandth of 1000 is no rounding error."""
    expected = 1000 + 1e-3 * numbers(300, 1)

    assert snr(torch.full((300, 1), 1000.0), expected) == pytest.approx(0, abs=0.5)


def test_the_worst_channel_is_told() -> None:
    """The mean over many channels hides that one is lost."""
    expected = numbers(300, 40)
    outputs = 1.001 * expected
    outputs[:, 7] = 0

    found = NumberComparison.of(expected).compare(outputs, expected)

    assert found["output_snr_db"] == pytest.approx(16, abs=0.5)
    assert found["worst_output_snr_db"] == pytest.approx(0, abs=0.5)


def test_outputs_that_are_all_zero_can_be_compared() -> None:
    """An error of 1 is as large as the signal."""
    assert snr(torch.ones(5, 2), torch.zeros(5, 2)) == pytest.approx(0)


def test_equal_outputs_have_the_largest_ratio() -> None:
    """Infinity is no number of JSON, and a target must be met."""
    expected = numbers(9, 2)

    assert snr(expected, expected) == MOST_DB
    assert math.isnan(snr(expected * math.nan, expected))


def test_drawn_numbers_lie_around_the_outputs() -> None:
    """The mean of half the squared error is half the count, and its gradient belongs to the noise."""
    outputs = (100 * numbers(500, 4)).requires_grad_()
    comparison = NumberComparison.of(outputs.detach())

    loss = comparison.sampled_loss(outputs, torch.Generator().manual_seed(1))
    loss.backward()

    assert loss.item() == pytest.approx(outputs.numel() / 2, rel=0.1)
    assert outputs.grad is not None
    assert outputs.grad.std().item() == pytest.approx(1 / 25, rel=0.1)
    assert comparison.decisions(outputs) == 4
