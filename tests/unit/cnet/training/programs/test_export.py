"""Exporting a module: what is refused, what is said, and what the file does not tell of its author."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from cnet.errors import ProgramError
from cnet.training.programs import export_program
from tests.unit.cnet.training.programs.networks import CASES, ConvNormDropout, TwoInputs


class Branching(nn.Module):
    """A module with control flow on a value."""

    def forward(self, values: Tensor) -> Tensor:
        """The values or their double, shape (n, m)."""
        return values if values.sum() > 0 else values * 2


class FixedBatch(nn.Module):
    """A module that fixes its number of samples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Two numbers for each of four samples, shape (4, 2), of values of shape (4, 3)."""
        result: Tensor = self.layer(values.view(4, 3))
        return result


def test_a_batch_of_one_is_refused(tmp_path: Path) -> None:
    """It would fix the number of samples; nothing is written."""
    with pytest.raises(ProgramError, match=r"Give a batch of 2 samples or more"):
        export_program(ConvNormDropout(), torch.randn(1, 3, 8, 8), tmp_path / "net.pt2")

    assert list(tmp_path.iterdir()) == []


def test_control_flow_on_values_is_refused(tmp_path: Path) -> None:
    """In torch's words, with what to do."""
    with pytest.raises(ProgramError, match=r"torch.export cannot follow the module: .*Rewrite the part"):
        export_program(Branching(), torch.randn(3, 2), tmp_path / "net.pt2")


def test_an_operator_that_is_not_supported_is_named(tmp_path: Path) -> None:
    """And the file that was there stays."""

    class Determinant(nn.Module):
        def forward(self, values: Tensor) -> Tensor:
            return torch.linalg.det(values)

    (tmp_path / "net.pt2").write_text("old")

    with pytest.raises(ProgramError, match="linalg_det") as caught:
        export_program(Determinant(), torch.randn(3, 2, 2), tmp_path / "net.pt2")

    assert caught.value.code == "program_operator"
    assert (tmp_path / "net.pt2").read_text() == "old"


def test_a_fixed_batch_size_is_a_warning(tmp_path: Path) -> None:
    """The archive works for that number of samples only."""
    report = export_program(FixedBatch(), torch.randn(4, 3), tmp_path / "net.pt2")

    assert not report.dynamic_batch
    assert report.program.inputs[0].shape == (4, 3)
    assert "exactly 4 samples" in report.warnings[0]


class Counting(nn.Module):
    """A module that asks Python for the number of samples, with dropout and shared weights."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.layer, self.dropout = nn.Parameter(torch.ones(1, 3)), nn.Linear(3, 3), nn.Dropout(0.5)
        self.again = nn.Linear(3, 3)
        self.again.weight = self.layer.weight

    def forward(self, values: Tensor) -> Tensor:
        """Numbers of shape (n, 6), of values of shape (n, 3)."""
        tokens = self.token.expand(len(values), -1)
        return torch.cat([self.dropout(self.layer(values)), self.again(tokens)], dim=1)


def test_the_length_of_a_batch_stays_dynamic(tmp_path: Path) -> None:
    """``len`` gives a plain number, which only following the source code keeps open."""
    report = export_program(Counting(), torch.randn(4, 3), tmp_path / "net.pt2")

    assert (report.dynamic_batch, report.warnings) == (True, ())
    assert report.program.train_graph is not None
    assert {row.name for row in report.program.tensors} == set(Counting().state_dict())
    with zipfile.ZipFile(tmp_path / "net.pt2") as archive:
        assert all(b"test_export.py" not in archive.read(name) for name in archive.namelist())


def test_the_module_is_left_as_it_was(tmp_path: Path) -> None:
    """Mode, statistics and parameters."""
    module = ConvNormDropout()
    module.norm.eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}

    export_program(module, torch.randn(4, 3, 8, 8), tmp_path / "net.pt2")

    assert module.training
    assert not module.norm.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_the_archive_holds_no_source_files_and_no_example_inputs(tmp_path: Path) -> None:
    """PyTorch reads the archive too."""
    example = torch.full((3, 4), 12345.678), torch.full((3, 3), 12345.678)
    export_program(TwoInputs(), example, tmp_path / "net.pt2")

    with zipfile.ZipFile(tmp_path / "net.pt2") as archive:
        for name in archive.namelist():
            content = archive.read(name)
            assert b"networks.py" not in content, name
            assert example[0].numpy().tobytes()[:16] not in content, name
    assert torch.export.load(str(tmp_path / "net.pt2")).module()(*example).shape == (3,)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_modules_in_16_bits_are_exported(dtype: torch.dtype, tmp_path: Path) -> None:
    """PyTorch runs a transformer by another path than the program does, which rounds differently."""
    torch.manual_seed(0)
    layers = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), nn.Linear(32, 200)
    module = nn.Sequential(*layers).to(dtype)

    report = export_program(module, torch.randn(4, 12, 32, dtype=dtype), tmp_path / "net.pt2")

    assert {row.dtype for row in report.program.tensors} == {str(dtype).removeprefix("torch.")}


def test_arguments_by_name_are_exported(tmp_path: Path) -> None:
    """In the order of the call."""
    one, other = CASES["regression on two inputs"].inputs(3)

    report = export_program(TwoInputs(), one, tmp_path / "net.pt2", example_kwargs={"other": other})

    assert [row.name for row in report.program.inputs] == ["one", "other"]


def test_a_printed_report_is_short(tmp_path: Path) -> None:
    """Who prints it wants the warnings, not every operator of the graph."""
    report = export_program(nn.Linear(3, 2), torch.zeros(2, 3), tmp_path / "net.pt2")

    assert repr(report) == "ExportReport(dynamic_batch=True, warnings=())"
