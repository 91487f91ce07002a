"""Statistics of batch normalization, measured again and merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cnet.data import Dataset
from cnet.data.dataset import Split
from cnet.prune import PRUNERS
from cnet.training.networks.loaded import LoadedNetwork
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer
from cnet.weights import Selection, Weights
from tests.small_training import Recorder, same_bits, small_dataset, small_trainer, small_training

STATISTICS = ("running_mean", "running_var")


def resnet() -> Trainer:
    """A trainer of a network with batch normalization, whose batches hold all 32 training images."""
    return small_trainer("resnet20", training=small_training(batch_size=32), dataset=small_dataset())


def first_outputs(trainer: Trainer, weights: Weights) -> torch.Tensor:
    """The outputs of the first convolution for the training images, float64."""
    module = LoadedNetwork(trainer.network, weights).module
    with torch.no_grad():
        images = torch.from_numpy(trainer.dataset.train.input.astype(np.float32) / 255)
        found: torch.Tensor = module.get_submodule("conv1")(images).double()
    return found


def test_statistics_are_those_of_the_training_images() -> None:
    """Means and variances (with n - 1) over images and pixels; nothing else changes."""
    trainer = resnet()
    weights = trainer.initial(0)
    measured = trainer.with_batch_norm_measured(weights)
    outputs = first_outputs(trainer, weights)
    assert measured["bn1.running_mean"].values() == pytest.approx(outputs.mean((0, 2, 3)).numpy(), abs=1e-5)
    variance = outputs.movedim(1, 0).reshape(16, -1).var(1)
    assert measured["bn1.running_var"].values() == pytest.approx(variance.numpy(), rel=1e-4)
    for one, other in zip(weights, measured, strict=True):
        if not one.name.endswith(STATISTICS):
            assert one.data.tobytes() == other.data.tobytes(), one.name


def test_measuring_twice_gives_the_same_statistics() -> None:
    """Former statistics do not count, and the batches are the same each time."""
    trainer = resnet()
    once = trainer.with_batch_norm_measured(trainer.initial(0))
    assert same_bits(trainer.with_batch_norm_measured(once), once)


def test_a_net_without_batch_norm_stays_as_it_is() -> None:
    """The weights are returned unchanged."""
    trainer = small_trainer()
    weights = trainer.initial(0)
    assert trainer.with_batch_norm_measured(weights) is weights
    assert same_bits(trainer.with_batch_norm_merged(weights), weights)


def test_compressible_statistics_are_not_measured() -> None:
    """Statistics that a user selected count as weights."""
    selection = Selection(include=("bn1.running_mean",))
    trainer = small_trainer("resnet20", selection=selection)
    weights = trainer.initial(0)
    measured = trainer.with_batch_norm_measured(weights)
    assert np.array_equal(measured.vector(), weights.vector())
    assert np.array_equal(trainer.with_batch_norm_merged(measured).vector(), weights.vector())


def trained() -> tuple[Trainer, Weights]:
    """A trained network, whose statistics, scales and shifts differ from the initial ones."""
    trainer = resnet()
    return trainer, trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=2)))


def test_merging_keeps_the_function() -> None:
    """The loss stays up to rounding, and all statistics are constants."""
    trainer, weights = trained()
    merged = trainer.with_batch_norm_merged(weights)
    assert trainer.evaluate(merged).loss == pytest.approx(trainer.evaluate(weights).loss, rel=1e-5)
    for tensor in merged:
        if tensor.name.endswith("running_mean"):
            assert not tensor.values().any()
        if tensor.name.endswith("running_var"):
            assert len(np.unique(tensor.values())) == 1
    assert np.array_equal(merged.vector(), weights.vector())


def test_merging_twice_gives_the_same_weights() -> None:
    """The values are equal up to rounding."""
    trainer, weights = trained()
    once = trainer.with_batch_norm_merged(weights)
    for one, other in zip(once, trainer.with_batch_norm_merged(once), strict=True):
        assert other.values() == pytest.approx(one.values(), rel=1e-6)


def test_measuring_lowers_the_loss_of_a_pruned_network() -> None:
    """Measured statistics lower the loss of a pruned network without any epoch."""
    trainer = small_trainer("resnet20")
    weights = trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=6)))
    keep = PRUNERS.create("magnitude").keep(weights, 0.6)
    stages = [
        TrainingStage("recover", small_training(epochs=0), mask=keep, remeasure_batch_norm=measure)
        for measure in (False, True)
    ]
    stale, measured = (trainer.evaluate(trainer.train(weights, stage)).loss for stage in stages)
    assert measured < stale


def test_statistics_that_give_a_higher_loss_are_not_taken() -> None:
    """Training images of one brightness say nothing of those that choices are made on."""
    trainer, weights = trained()
    train, test = trainer.dataset.train, trainer.dataset.test
    narrow = Split({"x": np.full_like(train.input, 200)}, train.targets)
    recorder = Recorder()
    trainer = replace(trainer, dataset=Dataset(narrow, test, validation=test), observer=recorder)
    stage = TrainingStage("recover", small_training(epochs=0), remeasure_batch_norm=True)

    kept = trainer.train(weights, stage)

    assert all(np.array_equal(one.data, other.data) for one, other in zip(kept, weights, strict=True))
    assert any("batch norm" in line for line in recorder.lines)
