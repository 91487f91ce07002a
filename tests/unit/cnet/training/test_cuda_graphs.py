"""Recorded steps give the results of steps that are run; without a GPU a stand-in replaces its graphs."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import Parameter

from cnet.errors import StoppedError
from cnet.methods import METHODS
from cnet.training.config import Optimizer
from cnet.training.cuda_graphs import Action, RecordingStepRunner, no_recorder
from cnet.training.loop import EpochTotals
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer
from tests.small_training import Recorder, coarse, same_bits, small_dataset, small_trainer, small_training

RECORDABLE = [name for name in METHODS.names() if METHODS.create(name).hooks().recordable]


class Stencils:
    """A recorder without a GPU: recording runs nothing, and each replay writes to the same tensors."""

    def __init__(self, parameters: Sequence[Parameter], *, fails: bool = False) -> None:
        self._parameters = parameters
        self._fails = fails
        self.calls: list[str] = []

    def forget(self) -> None:
        """Note the call."""
        self.calls.append("forget")

    def run(self, action: Action) -> None:
        """Run the action directly."""
        self.calls.append("run")
        action()

    def record(self, action: Action) -> Action:
        """Give the gradients their tensors, without values."""
        if self._fails:
            raise RuntimeError("this cannot be recorded")
        self.calls.append("record")
        places = [torch.full_like(parameter, torch.nan) for parameter in self._parameters]
        for parameter, place in zip(self._parameters, places, strict=True):
            parameter.grad = place

        def again() -> None:
            self.calls.append("replay")
            for parameter in self._parameters:
                parameter.grad = None
            action()
            for parameter, place in zip(self._parameters, places, strict=True):
                assert parameter.grad is not None
                place.copy_(parameter.grad)
                parameter.grad = None

        return again


def replaying(architecture: str, *, fails: bool = False, observer: Recorder | None = None) -> Trainer:
    """A small trainer that records its steps, on the CPU."""

    def stencils(device: torch.device, parameters: Sequence[Parameter]) -> Stencils:
        del device
        return Stencils(parameters, fails=fails)

    return small_trainer(architecture, observer=observer or Recorder(), graph_recorder=stencils)


def stage(name: str) -> TrainingStage:
    """A stage with momentum."""
    made = METHODS.create(name, **({"lambda_": 0.5} if name == "cnet" else {}))
    return TrainingStage(
        "finetune", small_training(epochs=2, optimizer=Optimizer(name="sgd", learning_rate=0.05)), made
    )


@pytest.mark.parametrize("architecture", ["lenet300_100", "resnet20"])
@pytest.mark.parametrize("name", RECORDABLE)
def test_replayed_steps_give_the_same_bits(name: str, architecture: str) -> None:
    """Weights, statistics and metrics, with two shapes of batches and pruned weights."""
    seen, expected = Recorder(), Recorder()
    plain = small_trainer(architecture, observer=expected)
    start = plain.initial(0)
    masked = replace(stage(name), mask=np.arange(start.compressible_parameters) % 3 > 0)
    assert same_bits(replaying(architecture, observer=seen).train(start, masked), plain.train(start, masked))
    assert seen.metrics == expected.metrics


def test_each_epoch_runs_a_step_of_each_shape_then_records_and_replays() -> None:
    """Each batch is copied to the tensors that the recorded step reads."""
    weight = Parameter(torch.zeros(2))
    stencils = Stencils([weight])
    steps = RecordingStepRunner(stencils, [weight], print)
    got = []

    def work(inputs: tuple[torch.Tensor, ...], y: torch.Tensor) -> None:
        (x,) = inputs
        weight.grad = x.sum(0) * y.sum()

    for _ in range(2):
        steps.begin_epoch(work)
        for count in (3, 3, 2, 3, 2):
            x = torch.randn(count, 2)
            steps((x,), torch.arange(count))
            assert weight.grad is not None
            got.append(torch.equal(weight.grad, x.sum(0) * sum(range(count))))
        steps.end_epoch()
    epoch = ["run", "record", "replay", "run", "replay", "record", "replay", "forget"]
    assert stencils.calls == 2 * epoch
    assert all(got)
    watch = weakref.ref(work)
    del work
    assert watch() is None, "the work, and with it the graphs' memory, is let go of"


def test_what_cannot_be_recorded_is_run() -> None:
    """The log says why once, and the result is the same."""
    observer = Recorder()
    plain = small_trainer("resnet20")
    start = plain.initial(0)
    failing = replaying("resnet20", fails=True, observer=observer)
    assert same_bits(failing.train(start, stage("cnet")), plain.train(start, stage("cnet")))
    assert observer.lines == ["finetune: training steps are not recorded as CUDA graphs: this cannot be recorded"]


def test_a_resumed_training_of_replayed_steps_equals_an_undisturbed_one(tmp_path: Path) -> None:
    """The first epoch after the resume records at the same steps."""
    start = small_trainer("resnet20").initial(0)
    kept = replace(stage("cnet"), state_file=tmp_path / "state")
    with pytest.raises(StoppedError):
        replaying("resnet20", observer=Recorder(stop_after=1)).train(start, kept)
    resumed = replaying("resnet20").train(start, kept)
    assert same_bits(resumed, replaying("resnet20").train(start, stage("cnet")))


def test_centroids_are_trained_by_replayed_steps() -> None:
    """Their gradients are computed from those of the weights after each replay."""
    plain = small_trainer()
    net = plain.train(plain.initial(0), TrainingStage("baseline", small_training()))
    symbols = coarse(net)
    tuned = TrainingStage("centroids", small_training())
    _, expected = plain.train_centroids(net, symbols, tuned)
    _, moved = replaying("lenet300_100").train_centroids(net, symbols, tuned)
    assert not np.array_equal(moved.centroids, symbols.centroids)
    assert moved.centroids.tobytes() == expected.centroids.tobytes()


@pytest.mark.parametrize("architecture", ["lenet300_100", "resnet8"])
def test_what_is_not_compressible_is_trained_by_replayed_steps(architecture: str) -> None:
    """The gradients of the frozen weights do not add up over replays."""
    plain = small_trainer(architecture)
    net = plain.train(plain.initial(0), TrainingStage("baseline", small_training()))
    symbols = coarse(net)
    around = TrainingStage("centroids", small_training(), freeze_centroids=True)
    expected, _ = plain.train_centroids(net, symbols, around)
    found, same = replaying(architecture).train_centroids(net, symbols, around)
    assert same is symbols
    assert same_bits(found, expected)
    assert not same_bits(found, net.with_vector(symbols.vector()))


def test_methods_that_change_within_an_epoch_are_not_recorded() -> None:
    """They draw random numbers, or follow the done part of the epoch."""
    assert {"rate", "targeted_dropout"}.isdisjoint(RECORDABLE)
    assert {"none", "cnet", "l1", "l2", "hoyer_square", "group_lasso", "smallify", "binary"} <= set(RECORDABLE)


def test_step_counts_are_kept_in_tensors() -> None:
    """A replay runs no Python, so that a count in a Python number would be lost."""
    totals = EpochTotals(torch.device("cpu"))
    before = {name: value.clone() for name, value in vars(totals).items()}
    totals.add(torch.tensor(0.5), 3, torch.tensor(2))
    assert all(isinstance(value, torch.Tensor) for value in vars(totals).values())
    assert all(value != before[name] for name, value in vars(totals).items())
    assert totals.means() == (0.5, pytest.approx(200 / 3))


def _trained(name: str, *, replay: bool) -> tuple[list[np.ndarray], Recorder]:
    observer = Recorder()
    trainer = small_trainer(
        "resnet20", dataset=small_dataset(200), observer=observer, **({} if replay else {"graph_recorder": no_recorder})
    )
    return [tensor.values() for tensor in trainer.train(trainer.initial(0), stage(name))], observer


@pytest.mark.skipif(not torch.cuda.is_available(), reason="records CUDA graphs")
@pytest.mark.parametrize("name", RECORDABLE)
def test_replayed_steps_equal_run_steps_on_a_gpu(name: str) -> None:
    """Results agree up to rounding, and two replayed trainings agree in every bit."""
    replayed, said = _trained(name, replay=True)
    again, _ = _trained(name, replay=True)
    plain, expected = _trained(name, replay=False)
    assert said.lines == []
    for one, two in zip(said.metrics, expected.metrics, strict=True):
        assert one == pytest.approx(two, rel=1e-3)
    for one, two, other in zip(replayed, again, plain, strict=True):
        assert np.array_equal(one, two)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
