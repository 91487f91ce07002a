"""The learning rate over the course of a training."""

from __future__ import annotations

import pytest

from cnet.training.config import Optimizer, Schedule, Training
from cnet.training.optimizers import learning_rate


def test_rates_of_the_schedules() -> None:
    """Constant, steps at epochs, cosine to zero, and a linear warm-up before each."""
    half = Optimizer(learning_rate=0.5)
    plain = Training(epochs=10, optimizer=half)
    step = plain.model_copy(update={"schedule": Schedule(name="step", milestones=(3, 6), gamma=0.1)})
    cosine = plain.model_copy(update={"schedule": Schedule(name="cosine", warmup_epochs=2)})
    assert {learning_rate(plain, epoch, 0.5) for epoch in range(10)} == {0.5}
    assert [learning_rate(step, epoch, 0.9) for epoch in (2, 3, 6)] == pytest.approx([0.5, 0.05, 0.005])
    assert [learning_rate(cosine, epoch, part) for epoch, part in ((0, 0.5), (1, 0.0), (2, 0.0), (6, 0.0))] == (
        pytest.approx([0.125, 0.25, 0.5, 0.25])
    )
    assert 0 < learning_rate(cosine, 9, 0.99) < 1e-4
    assert 0 < learning_rate(cosine, 0, 0.0) < 1e-3
