"""An exported network trains, and is measured, as the built-in one that it was."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from cnet.errors import ArchitectureMismatchError, ProgramError
from cnet.methods import METHODS
from cnet.models.programs import StoredProgram, read_program
from cnet.training.config import Augment
from cnet.training.programs import export_program
from cnet.training.programs.builder import ProgramBuilder, ProgramNetwork
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer
from cnet.weights import Weights
from tests.small_training import same_bits, small_trainer, small_training
from tests.unit.cnet.training.programs.networks import CASES

Pair = tuple[Trainer, Trainer, Weights]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A trainer of ResNet-8, one of the same network as a program, and weights."""
    plain = small_trainer("resnet8")
    weights = plain.initial(0)
    path = tmp_path_factory.mktemp("programs") / "net.pt2"
    export_program(plain.load(weights).module, torch.zeros(4, 1, 8, 8), path)
    archive = read_program(path)
    builder = ProgramBuilder(StoredProgram(archive.program, archive.weights), 0)
    return plain, replace(plain, network=builder), weights


def test_training_gives_the_same_bits(pair: Pair) -> None:
    """With augmentation and a method."""
    plain, program, weights = pair
    augmented = small_training(augment=Augment(flip=True, shift=1))
    stage = TrainingStage("finetune", augmented, METHODS.create("cnet"))

    trained = plain.train(weights, stage)

    assert same_bits(program.train(weights, stage), trained)
    assert not same_bits(trained, weights)


def test_measurements_are_the_same(pair: Pair) -> None:
    """Scores, curvature, measured and merged statistics."""
    plain, program, weights = pair
    weights = plain.train(weights, TrainingStage("finetune", small_training(epochs=1)))

    assert program.evaluate(weights) == plain.evaluate(weights)
    assert np.array_equal(program.curvature(weights), plain.curvature(weights))
    measured = program.with_batch_norm_measured(weights)
    for one, other in zip(measured, plain.with_batch_norm_measured(weights), strict=True):
        assert one.values() == pytest.approx(other.values(), rel=1e-5, abs=1e-6), one.name
    assert not same_bits(measured, weights)
    assert same_bits(program.with_batch_norm_merged(weights), plain.with_batch_norm_merged(weights))


def test_weights_of_another_network_are_refused(pair: Pair) -> None:
    """The message has the names."""
    _, program, weights = pair
    without = Weights.select(list(weights)[1:])

    with pytest.raises(ArchitectureMismatchError, match=f"1 missing: {next(iter(weights)).name}"):
        program.evaluate(without)


@cache
def fixed(batch: int) -> StoredProgram:
    """A program of batches of a fixed size."""
    case = CASES["batch norm and dropout"]
    exported = torch.export.export(case.build().eval(), case.inputs(batch))
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(exported, Path(folder) / "net.pt2")
        archive = read_program(Path(folder) / "net.pt2")
    return StoredProgram(archive.program, archive.weights)


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_a_fixed_batch_takes_any_number_of_samples_in_evaluation(count: int) -> None:
    """The outputs are those of batches of the fixed size, the last one filled up."""
    stored = fixed(3)
    module = ProgramBuilder(stored, 0).build().eval()
    (images,) = CASES["batch norm and dropout"].inputs(count)

    outputs = module(images)

    assert isinstance(module, ProgramNetwork)
    assert outputs.shape == (count, 5)
    padded = torch.cat([images, images[-1:].expand(3, -1, -1, -1)])
    expected = torch.cat([module(padded[start : start + 3]) for start in range(0, count, 3)])[:count]
    assert torch.allclose(outputs, expected)


class Steps(nn.Module):
    """A network whose output has one row for each step of all samples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Logits, shape (n * steps, 3), of values of shape (n, steps, 4)."""
        logits: torch.Tensor = self.layer(values)
        return logits.reshape(-1, 3)


def test_an_output_that_does_not_count_samples_is_refused(tmp_path: Path) -> None:
    """The message names the output and both numbers, and says what to export."""
    export_program(Steps(), torch.randn(4, 5, 4), tmp_path / "net.pt2")
    archive = read_program(tmp_path / "net.pt2")
    module = ProgramBuilder(StoredProgram(archive.program, archive.weights), 0).build()

    with pytest.raises(ProgramError, match=r"shape \(30, 3\) for 6 samples. Export a module") as caught:
        module(torch.randn(6, 5, 4))

    assert caught.value.code == "program_shape"


def test_a_batch_of_one_is_refused() -> None:
    """The message says what to export instead."""
    with pytest.raises(ProgramError, match="two or more example samples"):
        ProgramBuilder(fixed(1), 0)


def test_a_program_that_cannot_be_run_is_refused_before_training(pair: Pair) -> None:
    """Here one whose graph was changed to add numbers of other shapes."""
    plain, program, weights = pair
    builder = program.network
    assert isinstance(builder, ProgramBuilder)
    shapes = {tensor.name: tensor.shape for tensor in weights}
    program.check(shapes)
    [linear] = [call for call in builder.stored.program.graph.calls if call.target == "aten.linear.default"]
    broken = linear.model_copy(update={"args": (linear.args[0], linear.args[0], *linear.args[2:])})
    calls = tuple(broken if call is linear else call for call in builder.stored.program.graph.calls)
    graph = builder.stored.program.graph.model_copy(update={"calls": calls})
    stored = StoredProgram(builder.stored.program.model_copy(update={"graph": graph}), builder.stored.weights)

    with pytest.raises(ProgramError, match="cannot be run on samples of the shapes") as caught:
        replace(plain, network=ProgramBuilder(stored, 0)).check(shapes)

    assert caught.value.code == "program_shape"
