"""The canonical form and the manifest of a program: complete, the same bytes each time, and checked when read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from cnet.errors import ProgramError
from cnet.formats.safetensors import write_safetensors
from cnet.formats.writing import TensorsToWrite
from cnet.models.programs import ProgramManifest, read_canonical_program, read_program, write_canonical_program
from tests.unit.cnet.training.programs.networks import CASES, Unusual, seeded_network, write_archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a network with constants and a buffer outside its ``state_dict``."""
    path = tmp_path_factory.mktemp("programs") / "net.pt2"
    write_archive(CASES["unusual"], path)
    return path


def test_a_program_round_trips(archive: Path, tmp_path: Path) -> None:
    """With the same graph and the same tensors, and the same bytes for the same program."""
    read = read_program(archive)
    for name in ("a", "b"):
        write_canonical_program(tmp_path / name, read.program, read.weights)

    stored = read_canonical_program(tmp_path / "a")

    assert stored.program == read.program
    assert stored.weights.digest() == read.weights.digest()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_state_dict_is_that_of_the_module(archive: Path, tmp_path: Path) -> None:
    """Without constants and buffers that are not part of it."""
    read = read_program(archive)
    write_canonical_program(tmp_path / "a", read.program, read.weights)

    found = read_canonical_program(tmp_path / "a").state_dict

    assert [tensor.name for tensor in found] == list(Unusual().state_dict())
    assert len(found.tensors) < len(read.weights.tensors)


def test_damage_is_refused(tmp_path: Path) -> None:
    """A file that is cut, and one without a program."""
    (tmp_path / "cut").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    write_safetensors(tmp_path / "none", TensorsToWrite((), lambda _: []))
    for name in ("cut", "none"):
        with pytest.raises(ProgramError) as caught:
            read_canonical_program(tmp_path / name)
        assert caught.value.code == "corrupt"


def test_the_manifest_describes_the_program(archive: Path) -> None:
    """And comes back from JSON."""
    read = read_program(archive)
    manifest = ProgramManifest.of(read)

    assert ProgramManifest.from_json(manifest.to_json()) == manifest
    assert [row.name for row in manifest.tensors] == list(Unusual().state_dict())
    assert manifest.parameters == sum(tensor.numel() for tensor in Unusual().state_dict().values())
    assert manifest.train_graph
    assert "aten._weight_norm.default" in manifest.operators
    assert any(row.compressible for row in manifest.tensors)
    assert all(row.finite for row in manifest.tensors)


def test_tied_tensors_are_listed(tmp_path: Path) -> None:
    """A tied tensor names the first of its group and counts once."""
    case = CASES["transformer"]
    write_archive(case, tmp_path / "net.pt2")

    manifest = ProgramManifest.of(read_program(tmp_path / "net.pt2"))

    assert len(manifest.tied) == 1
    assert [row.tied_to for row in manifest.tensors].count(None) == len(manifest.tensors) - 1
    assert manifest.parameters == sum(parameter.numel() for parameter in seeded_network(case).parameters())


def test_a_fixed_batch_of_one_is_a_warning(tmp_path: Path) -> None:
    """Such a program cannot be used with a data set."""

    class One(nn.Module):
        """A network that fixes the number of samples."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """The inputs, shape (1, 4)."""
            return x.view(1, 4) * 2

    program = torch.export.export(One(), (torch.ones(1, 4),))
    torch.export.save(program, tmp_path / "net.pt2")

    manifest = ProgramManifest.of(read_program(tmp_path / "net.pt2"))

    assert [warning.code for warning in manifest.warnings] == ["batch_of_one"]
    assert np.prod(manifest.inputs[0].shape) == 4
