"""Changes of means that two halves of the samples agree on."""

from __future__ import annotations

import pytest
import torch

from cnet.calibrate.lockstep import Call
from cnet.calibrate.mean_change import agreed, mean_change
from cnet.calibrate.samples import Samples


def test_a_change_that_both_halves_measure_is_applied_in_full() -> None:
    """And what they contradict each other on, not at all."""
    change = torch.tensor([1.0, -2.0], dtype=torch.float64)

    assert torch.equal(agreed(change, change), change)
    assert torch.equal(agreed(change, -change), torch.zeros(2, dtype=torch.float64))
    assert torch.equal(agreed(change * 0, change * 0), change * 0)


@pytest.mark.parametrize("second", [(False, True), (False, False)])
def test_the_change_is_the_mean_over_all_samples(second: tuple[bool, bool]) -> None:
    """Where the halves agree, or where there is one alone."""
    batches = ((torch.zeros(3, 2),), (torch.zeros(3, 2),))

    def calls(shift: float) -> list[Call]:
        return [Call(torch.relu, (batch[0] + shift,), {}) for batch in batches]

    found = mean_change(calls(0.0), calls(0.5), Samples(batches, second), lambda call: call.args[0].double().mean(0))

    assert found.tolist() == [0.5, 0.5]
