"""Exported networks compute, train and load back as the user's own modules do."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cnet.errors import ProgramError
from cnet.models.programs import Program, read_program
from cnet.training.programs import ProgramModule, flat_tensors
from tests.real_files import real_file
from tests.unit.cnet.training.programs.networks import CASES, Case, seeded_network, write_archive

EVERY_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def exported(case: Case, path: Path) -> tuple[nn.Module, ProgramModule]:
    """A fresh network and what its archive is built into."""
    write_archive(case, path)
    archive = read_program(path)
    return seeded_network(case), ProgramModule.of(archive.program, archive.weights)


def export_plainly(module: nn.Module, case: Case, path: Path) -> None:
    """What a user does without this package: one graph, in the module's mode."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of the weights of recurrent layers
        program = torch.export.export(module, case.inputs(4), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
        torch.export.save(program, path)


def trained(module: nn.Module, batches: list[tuple[Tensor, ...]]) -> list[float]:
    """Losses of Adam's steps on the mean square of the outputs, dropout seeded."""
    torch.manual_seed(5)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    losses = []
    module.train()
    for batch in batches:
        optimizer.zero_grad()
        loss = sum((output**2).mean() for output in flat_tensors(module(*batch)))
        assert isinstance(loss, Tensor)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@EVERY_CASE
def test_outputs_are_those_of_the_module(case: Case, tmp_path: Path) -> None:
    """In evaluation, bit for bit, for any number of samples."""
    module, program = exported(case, tmp_path / "net.pt2")

    for count in (1, 2, 6):
        inputs = case.inputs(count)  # with gradients: without them torch takes another path through transformers
        expected, found = flat_tensors(module.eval()(*inputs)), flat_tensors(program.eval()(*inputs))
        assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))


@EVERY_CASE
def test_training_is_that_of_the_module(case: Case, tmp_path: Path) -> None:
    """Twelve steps of Adam give the same losses, parameters and buffers; the result loads strictly into the module."""
    module, program = exported(case, tmp_path / "net.pt2")
    torch.manual_seed(7)
    batches = [case.inputs(4) for _ in range(12)]

    losses = trained(program, batches)

    assert losses == trained(module, batches)
    state = program.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())
    module.load_state_dict(state, strict=True)


@pytest.mark.parametrize("name", ["batch norm and dropout", "LSTM on tokens", "GRU on tokens"])
def test_one_graph_is_used_for_training_and_evaluation(name: str, tmp_path: Path) -> None:
    """A plain export for evaluation trains as the module does, with its mode arguments switched."""
    case = CASES[name]
    module = seeded_network(case)
    export_plainly(module.eval(), case, tmp_path / "plain.pt2")
    archive = read_program(tmp_path / "plain.pt2")
    program = ProgramModule.of(archive.program, archive.weights)
    torch.manual_seed(7)
    batches = [case.inputs(4) for _ in range(6)]

    assert archive.program.train_graph is None
    assert trained(program, batches) == trained(module, batches)


@pytest.mark.parametrize("name", ["batch norm and dropout", "LSTM on tokens", "transformer"])
def test_an_export_for_training_is_evaluated_without_dropout(name: str, tmp_path: Path) -> None:
    """Two evaluations agree with each other and with the module."""
    case = CASES[name]
    module = seeded_network(case)
    export_plainly(module.train(), case, tmp_path / "plain.pt2")
    archive = read_program(tmp_path / "plain.pt2")
    program = ProgramModule.of(archive.program, archive.weights).eval()
    module.load_state_dict(program.state_dict())
    inputs = case.inputs(3)

    with torch.no_grad():
        (found,), (expected,) = flat_tensors(program(*inputs)), flat_tensors(module.eval()(*inputs))

    assert archive.program.exported_for == "training"
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_tied_parameters_stay_one(tmp_path: Path) -> None:
    """The archive stores a shared weight once; it is one parameter under two names."""
    _, program = exported(CASES["transformer"], tmp_path / "net.pt2")

    assert program.get_parameter("embedding.weight") is program.get_parameter("head.weight")
    assert "head.weight" in program.state_dict()


def test_the_normal_form_is_stored_and_read_back(tmp_path: Path) -> None:
    """JSON and back is the identity."""
    write_archive(CASES["regression on two inputs"], tmp_path / "net.pt2")
    program = read_program(tmp_path / "net.pt2").program

    assert Program.from_json(program.to_json()) == program
    with pytest.raises(ProgramError, match="damaged"):
        Program.from_json(program.to_json().replace("aten", "os", 1)[:-5])


@pytest.mark.parametrize(
    "inputs",
    [
        (torch.zeros(2, 4),),
        (torch.zeros(2, 4), torch.zeros(3, 3)),
        (torch.zeros(2, 4), torch.zeros(2, 4)),
        (torch.zeros(2, 4), torch.zeros(2, 3, dtype=torch.int64)),
        (torch.zeros(2, 4, 1), torch.zeros(2, 3)),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: tuple[Tensor, ...], tmp_path: Path) -> None:
    """Before anything is computed, stating what is taken and what is given."""
    _, program = exported(CASES["regression on two inputs"], tmp_path / "net.pt2")

    with pytest.raises(ProgramError) as caught:
        program(*inputs)

    assert caught.value.code == "program_shape"
    assert "given" in caught.value.detail


@pytest.mark.parametrize(
    ("name", "shift", "scale"), [("efficientnet_lite0", 127.0, 128.0), ("ocr_english_g2", 127.5, 127.5)]
)
def test_real_programs_compute_what_torch_computes(name: str, shift: float, scale: float) -> None:
    """Bit for bit, on real inputs."""
    path = real_file(f"programs/{name}.pt2")
    images = np.load(real_file(f"programs/{name}_inputs.npz"))["x"][:3]
    archive = read_program(path)
    program = ProgramModule.of(archive.program, archive.weights).eval()
    reference = torch.export.load(str(path)).module()
    inputs = (torch.from_numpy(images).float() - shift) / scale

    with torch.no_grad():
        assert torch.equal(program(inputs), reference(inputs))
    assert set(program.state_dict()) == set(reference.state_dict())


class Skipping(nn.Module):
    """A residual branch that is left out for some samples in training, with the draw written in one of the ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.branch, self.way = nn.Linear(6, 6), way

    def forward(self, values: Tensor) -> Tensor:
        """Six numbers for each sample, shape (n, 6)."""
        kept, branch = 0.8, self.branch(values)
        if not self.training:
            return values + branch
        draws = {
            "bernoulli": lambda: values.new_empty((values.shape[0], 1)).bernoulli_(kept),
            "floor of a sum": lambda: (kept + torch.rand((values.shape[0], 1))).floor_(),
            "floor in place": lambda: torch.rand_like(branch[:, :1]).add_(kept).floor(),
            "comparison": lambda: torch.rand((values.shape[0], 1)) < kept,
            "other comparison": lambda: (torch.rand_like(branch[:, :1]) >= 1 - kept).to(values.dtype),
        }
        return values + branch / kept * draws[self.way]()


@pytest.mark.parametrize("way", ["bernoulli", "floor of a sum", "floor in place", "comparison", "other comparison"])
def test_stochastic_depth_is_left_out_of_evaluation(way: str, tmp_path: Path) -> None:
    """Exported for training alone, the mean of the draw takes its place; in training it is drawn."""
    case = Case(lambda: Skipping(way), lambda count: (torch.randn(count, 6),))
    module = seeded_network(case)
    export_plainly(module.train(), case, tmp_path / "plain.pt2")
    archive = read_program(tmp_path / "plain.pt2")
    program, (values,) = ProgramModule.of(archive.program, archive.weights), case.inputs(40)

    with torch.no_grad():
        found, expected, drawn = program.eval()(values), module.eval()(values), program.train()(values)

    assert torch.allclose(found, expected, rtol=1e-5, atol=1e-6)
    left_out = (drawn == values).all(1).sum().item()
    assert 1 <= left_out <= 20
