"""Stages with a gradual pruning, and what distinguishes one stage from another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cnet.errors import StoppedError
from cnet.methods import METHODS, StepContext
from cnet.methods.cnet import Cnet
from cnet.methods.losses.cnet import CnetHooks
from cnet.prune import PRUNERS, Gradual
from cnet.training.constraints import GrowingMask
from cnet.training.stage import GradualPruning, TrainingStage
from tests.small_training import Recorder, same_bits, small_trainer, small_training


def stage(sparsity: float = 0.9, **given: Any) -> TrainingStage:
    """A stage of four epochs in which the sparsity rises, with the compressibility loss."""
    pruner = PRUNERS.create("magnitude", gradual=Gradual(epochs=4, steps=6))
    return TrainingStage(
        "prune",
        small_training(epochs=4),
        **{
            "method": METHODS.create("cnet", lambda_=0.01),
            "gradual_pruning": GradualPruning(pruner, sparsity),
            "method_frozen_at": 3,
            **given,
        },
    )


def test_sparsity_is_exact_at_the_end_and_pruning_then_changes_nothing() -> None:
    """The pruner's mask of the trained network keeps exactly its non-zeros."""
    trainer = small_trainer()
    trained = trainer.train(trainer.initial(0), stage(0.98))
    vector = trained.vector()
    zeros = vector == 0
    assert zeros.sum() == round(0.98 * len(vector))
    assert not vector[zeros].view(np.uint32).any()
    assert np.array_equal(PRUNERS.create("magnitude").keep(trained, 0.98), ~zeros)


def test_what_is_pruned_stays_pruned() -> None:
    """Each mask is part of the one before, at the sparsity of its step."""
    weight = torch.nn.Parameter(torch.randn(20, 10, generator=torch.Generator().manual_seed(0)))
    gradual, seen = Gradual(steps=5, rise=0.5), []

    def draw(vector: np.ndarray[Any, Any], step: int, _curvature: object) -> np.ndarray[Any, Any]:
        seen.append(step)
        dropped = round(gradual.sparsity(step, 0.9) * 200)
        keep = np.zeros(200, np.bool_)
        keep[np.argsort(np.abs(vector), kind="stable")[dropped:]] = True
        return keep

    growing = GrowingMask([weight], draw, gradual)
    before, counts = np.ones(200, np.bool_), []
    for step in range(20):
        growing.advance(step / 20)
        with torch.no_grad():
            weight += 0.3
        growing.after_step()
        alive = weight.detach().reshape(-1).numpy() != 0
        assert not alive[~before].any()
        before = alive
        counts.append(int(alive.sum()))
    assert seen == [0, 1, 2, 3, 4, 5]
    assert counts[-1] == counts[10] == 20


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize(("method", "pruner"), [("cnet", "magnitude"), ("smallify", "magnitude"), ("cnet", "obd")])
def test_a_resumed_training_equals_an_undisturbed_one(method: str, pruner: str, after: int, tmp_path: Path) -> None:
    """Masks are restored, and curvatures are measured again."""
    rise = GradualPruning(PRUNERS.create(pruner, gradual=Gradual(epochs=4, steps=6)), 0.9)
    made = stage(method=METHODS.create(method), gradual_pruning=rise)
    start = small_trainer().initial(0)
    undisturbed = small_trainer().train(start, made)
    cut = replace(made, state_file=tmp_path / "state")
    with pytest.raises(StoppedError):
        small_trainer(observer=Recorder(stop_after=after)).train(start, cut)
    assert same_bits(small_trainer().train(start, cut), undisturbed)


def test_another_sparsity_is_another_training() -> None:
    """So are another curve, another pruner and another frozen epoch."""
    made = stage()
    pruner = PRUNERS.create("magnitude", gradual=Gradual(epochs=4, steps=7))
    others = [
        stage(0.8),
        replace(made, gradual_pruning=GradualPruning(pruner, 0.9)),
        replace(made, gradual_pruning=GradualPruning(PRUNERS.create("obd", gradual=Gradual(epochs=4, steps=6)), 0.9)),
        replace(made, method_frozen_at=4),
        replace(made, gradual_pruning=None),
    ]
    assert len({made.identity("x"), *(other.identity("x") for other in others)}) == 6


class Listening(Cnet):
    """The method cnet with hooks that keep the context of each step."""

    def hooks(self) -> CnetHooks:
        """The hooks that keep the contexts."""
        return ListeningHooks(self)


class ListeningHooks(CnetHooks):
    """Keep the context of each step in ``CONTEXTS``."""

    def reparametrize(self, weights: Any, context: StepContext) -> dict[str, torch.Tensor]:
        """Keep the context, replace nothing."""
        del weights
        CONTEXTS.append(context)
        return {}


CONTEXTS: list[StepContext] = []


def test_the_method_stays_as_at_the_end_of_the_fine_tuning() -> None:
    """All epochs use the strength of the last of three epochs, and progress 1."""
    observer = Recorder()
    method = Listening.model_validate({"name": "cnet", "ramp": {"start": 0.01, "step": 0.01}})
    trainer = small_trainer(observer=observer)
    trainer.train(trainer.initial(0), stage(method=method))
    assert [row["lambda"] for row in observer.metrics] == pytest.approx([0.03] * 4)
    assert {context.progress for context in CONTEXTS} == {1.0}
