"""Weights in a module and out again, and how often a network is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from torch import nn

from cnet.data import Dataset
from cnet.models import ARCHITECTURES
from cnet.models.match import check_match
from cnet.training.config import Distill
from cnet.training.constraints import FixedMask
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.networks.builder import NetworkBuilder, NetworkInput, Shape
from cnet.training.networks.loaded import LoadedNetwork
from cnet.training.stage import Distillation, TrainingStage
from cnet.training.trainer import Trainer
from cnet.weights import Tensor, Weights
from tests.real_files import real_file
from tests.small_training import coarse, same_bits, small_trainer, small_training


@dataclass
class CountingBuilder:
    """A network builder that is none of the built-in ones: it counts its calls and passes them on."""

    builder: NetworkBuilder
    calls: list[str] = field(default_factory=list)
    name: str = "counted"
    identity: str = "counted"

    @property
    def inputs(self) -> tuple[NetworkInput, ...]:
        """Those of the inner builder."""
        return self.builder.inputs

    @property
    def fixed_batch(self) -> int | None:
        """That of the inner builder."""
        return self.builder.fixed_batch

    @property
    def output_shape(self) -> tuple[int | str | None, ...]:
        """That of the inner builder."""
        return self.builder.output_shape

    def build(self, shapes: Mapping[str, Shape] | None = None) -> nn.Module:
        """Count a build."""
        self.calls.append("build")
        return self.builder.build(shapes)

    def initialize(self, module: nn.Module, seed: int) -> None:
        """Count an initialization."""
        self.calls.append("initialize")
        self.builder.initialize(module, seed)


def counting_trainer() -> tuple[Trainer, list[str], Weights]:
    """A trainer of a small network with batch normalization, the calls to its builder, and fresh weights."""
    plain = small_trainer("resnet8")
    counter = CountingBuilder(plain.network)
    return replace(plain, network=counter), counter.calls, plain.initial(0)


def test_fresh_weights_are_initialized_once() -> None:
    """No other call computes initial values."""
    trainer, calls, _ = counting_trainer()
    trainer.initial(0)
    assert calls == ["build", "initialize"]


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("distill", [False, True])
def test_a_training_builds_its_network_once_and_its_teacher_once(measure: bool, distill: bool) -> None:
    """Measuring afterwards builds nothing, and nothing is initialized."""
    trainer, calls, weights = counting_trainer()
    teacher = Distillation(weights, Distill()) if distill else None
    stage = TrainingStage("recover", small_training(epochs=1), distillation=teacher, remeasure_batch_norm=measure)
    trainer.train(weights, stage)
    assert calls == ["build"] * (2 if distill else 1)


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("distill", [False, True])
def test_training_of_centroids_builds_its_network_once_and_its_teacher_once(
    freeze: bool, measure: bool, distill: bool
) -> None:
    """Training, measuring and both losses use one module."""
    trainer, calls, weights = counting_trainer()
    teacher = Distillation(weights, Distill()) if distill else None
    stage = TrainingStage(
        "centroids",
        small_training(epochs=1),
        distillation=teacher,
        remeasure_batch_norm=measure,
        freeze_centroids=freeze,
    )
    trainer.train_centroids(weights, coarse(weights), stage)
    assert calls == ["build"] * (2 if distill else 1)


def test_each_measurement_builds_its_network_once() -> None:
    """Evaluation, curvature, measured statistics and merged statistics."""
    trainer, calls, weights = counting_trainer()
    trainer.evaluate(weights)
    trainer.curvature(weights)
    trainer.with_batch_norm_measured(weights)
    trainer.with_batch_norm_merged(weights)
    assert calls == ["build"] * 4


def test_loading_replaces_every_value_and_drops_gradients() -> None:
    """A counter that the weights leave out returns to its initial value."""
    trainer = small_trainer("resnet8")
    one, two = ([t for t in trainer.initial(seed) if "num_batches" not in t.name] for seed in (0, 1))
    network = LoadedNetwork(trainer.network, Weights.select(one))
    network.module.train()
    network.module(torch.rand(4, 1, 8, 8)).sum().backward()
    network.load(Weights.select(two))
    assert same_bits(network.to_weights(Weights.select(one)), Weights.select(two))
    assert network.module.get_buffer("bn1.num_batches_tracked").item() == 0
    assert all(parameter.grad is None for parameter in network.module.parameters())


def test_kernels_that_lie_channels_last_are_read_in_c_order() -> None:
    """Values are the same and in C order, as after bfloat16 on a GPU."""
    trainer = small_trainer("resnet20")
    weights = trainer.initial(0)
    network = LoadedNetwork(trainer.network, weights)
    network.module.to(memory_format=torch.channels_last)
    back = network.to_weights(weights)
    assert same_bits(back, weights)
    assert all(tensor.data.flags.c_contiguous for tensor in back)
    masked = FixedMask([network.module.get_parameter("layer1.0.conv1.weight")], np.arange(2304) % 2 == 0)
    masked.after_step()
    masked = network.to_weights(weights)["layer1.0.conv1.weight"].data.reshape(-1)
    assert np.array_equal(
        masked, np.where(np.arange(2304) % 2 == 0, weights["layer1.0.conv1.weight"].data.reshape(-1), 0)
    )


@pytest.mark.real
@pytest.mark.parametrize("file", ["resnet20-12fca82f.th", "resnet32-d509ac18.th"])
def test_published_checkpoint_loads_with_every_key(file: str) -> None:
    """All names and shapes match, and the network computes with the values."""
    content = torch.load(real_file(f"checkpoints/{file}"), map_location="cpu", weights_only=True)
    state = {name.removeprefix("module."): value for name, value in content["state_dict"].items()}
    architecture = ARCHITECTURES.create(file.partition("-")[0])
    check_match(architecture, (3, 32, 32), 10, {name: tuple(value.shape) for name, value in state.items()})
    weights = Weights.select([Tensor(name, "float32", value.numpy()) for name, value in state.items()])
    random = np.random.default_rng(0)
    x, y = random.random((4, 3, 32, 32), dtype=np.float32), np.array([0, 3, 6, 9], np.int64)
    dataset = Dataset.of_arrays(x, y, x, y)
    trainer = Trainer(ArchitectureBuilder.for_dataset(architecture, dataset), dataset)
    assert np.isfinite(trainer.evaluate(weights).loss)
