"""How sparsity rises in a gradual pruning."""

from __future__ import annotations

import pytest

from cnet.errors import SpecError
from cnet.prune import Gradual
from cnet.spec import JobSpec


def test_the_curve_is_cubic() -> None:
    """Zhu and Gupta's equation 1, at quarters."""
    gradual = Gradual(steps=4, start=0.2)
    expected = [0.9 + (0.2 - 0.9) * (1 - step / 4) ** 3 for step in range(5)]
    assert [gradual.sparsity(step, 0.9) for step in range(5)] == pytest.approx(expected)
    assert gradual.sparsity(4, 0.9) == 0.9


def test_sparsity_never_falls_and_never_exceeds_the_final_one() -> None:
    """Even where the start is above it."""
    for start, final in ((0.0, 0.98), (0.5, 0.5), (0.9, 0.3)):
        gradual = Gradual(start=start)
        curve = [gradual.sparsity(step, final) for step in range(101)]
        assert curve == sorted(curve)
        assert curve[-1] == final


def test_steps_end_before_the_training_does() -> None:
    """The last quarter is for the net to settle."""
    gradual = Gradual(steps=10, rise=0.75)
    assert [gradual.step_at(time) for time in (0.0, 0.07, 0.08, 0.75, 1.0)] == [0, 0, 1, 10, 10]


def test_gradual_pruning_needs_a_data_set() -> None:
    """The error is raised when the spec is read."""
    with pytest.raises(SpecError, match=r"prune without a dataset: gradual"):
        JobSpec.parse({"checkpoint": "c", "prune": {"name": "magnitude", "gradual": {}}})
    at_once = JobSpec.parse({"checkpoint": "c", "prune": {"name": "magnitude", "gradual": {"epochs": 0}}})
    assert at_once.prune is not None
    assert at_once.prune.gradual_epochs == 0


@pytest.mark.parametrize(("training", "epochs"), [(None, 10), (30, 10), (4, 4), (0, 0)])
def test_gradual_pruning_is_the_default_with_training(training: int | None, epochs: int) -> None:
    """For ten epochs, or for as many as the fine-tuning has where these are fewer."""
    asked = None if training is None else {"epochs": training}
    document = {"architecture": {"name": "lenet5"}, "dataset": "d", "training": asked}
    pruner = JobSpec.parse(document).resolved().prune
    assert pruner is not None
    assert pruner.gradual_epochs == epochs


def test_explicit_settings_are_kept() -> None:
    """Zero epochs mean pruning in one step; without a data set there is no training during which to prune."""
    trained = {"architecture": {"name": "lenet5"}, "dataset": "d"}
    for epochs in (0, 25):
        asked = {**trained, "prune": {"name": "lamp", "gradual": {"epochs": epochs}}}
        pruner = JobSpec.parse(asked).resolved().prune
        assert pruner is not None
        assert pruner.gradual_epochs == epochs
    alone = JobSpec.parse({"checkpoint": "c"}).resolved().prune
    assert alone is not None
    assert alone.gradual is None
