"""The sandbox: a child process reads the file, and however it ends, the parent reports a clear error."""

from __future__ import annotations

import errno
import io
import json
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from app.api.sandbox import Sandbox, SandboxLimits
from cnet.data.canonical_dataset import read_dataset
from cnet.errors import CheckpointError, DatasetError, ProgramError
from cnet.formats.canonical_file import read_canonical
from cnet.models.programs import read_canonical_program
from tests.small_program import small_program

X = np.arange(10 * 6 * 5, dtype=np.uint8).reshape(10, 6, 5)
Y = np.arange(10) % 3


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """An empty folder."""
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint of two tensors with a common prefix."""
    np.savez(tmp_path / "c.npz", **{"module.w": np.arange(6, dtype=np.float32).reshape(2, 3), "module.b": np.ones(2)})
    return tmp_path / "c.npz"


def test_a_checkpoint_becomes_its_canonical_form(checkpoint: Path, target: Path) -> None:
    """The manifest comes back; the file is in the target folder."""
    manifest = Sandbox().checkpoint(checkpoint, target)
    assert (manifest.format, manifest.parameters, manifest.stripped_prefix) == ("npz", 8, "module.")
    assert [tensor.name for tensor in read_canonical(target / "weights.safetensors")] == ["w", "b"]


def test_options_reach_the_reader(checkpoint: Path, target: Path) -> None:
    """``strip_prefix`` and ``weights_key``."""
    assert Sandbox().checkpoint(checkpoint, target, strip_prefix=False).stripped_prefix is None
    with pytest.raises(CheckpointError) as caught:
        Sandbox().checkpoint(checkpoint, target, "nothing")
    assert caught.value.code == "not_a_state_dict"


def test_a_data_set_becomes_its_canonical_form(tmp_path: Path, target: Path) -> None:
    """As for a checkpoint."""
    np.savez(tmp_path / "d.npz", x=X, y=Y)
    manifest = Sandbox().dataset(tmp_path / "d.npz", target)
    assert (manifest.splits, manifest.classes) == ({"train": 8, "test": 2}, 3)
    assert read_dataset(target / "dataset.safetensors").input_shape == (1, 6, 5)


def test_a_program_becomes_its_canonical_form(tmp_path: Path, target: Path) -> None:
    """As for a checkpoint."""
    (tmp_path / "net.pt2").write_bytes(small_program())
    manifest = Sandbox().program(tmp_path / "net.pt2", target)
    stored = read_canonical_program(target / "program.safetensors")
    assert stored.program.inputs == manifest.inputs
    assert [tensor.name for tensor in stored.state_dict] == [tensor.name for tensor in manifest.tensors]


def test_refusals_of_programs_are_reported(checkpoint: Path, target: Path) -> None:
    """As ProgramError; the target folder stays empty."""
    with pytest.raises(ProgramError) as caught:
        Sandbox().program(checkpoint, target)
    assert caught.value.code == "not_a_program"
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(("data", "code"), [(b"", "empty_file"), (b"cos\nsystem\n(S'ls'\ntR.", "unsafe_pickle")])
def test_refusals_of_checkpoints_are_reported(tmp_path: Path, target: Path, data: bytes, code: str) -> None:
    """With code and message; the target folder stays empty."""
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(CheckpointError) as caught:
        Sandbox().checkpoint(tmp_path / "bad", target)
    assert caught.value.code == code
    assert str(tmp_path) not in caught.value.detail
    assert list(target.iterdir()) == []


def test_refusals_of_data_sets_are_reported(checkpoint: Path, target: Path) -> None:
    """As DatasetError."""
    with pytest.raises(DatasetError) as caught:
        Sandbox().dataset(checkpoint, target)
    assert caught.value.code == "missing_arrays"


def test_more_memory_than_allowed_is_a_refusal(tmp_path: Path, target: Path) -> None:
    """The limit is that of the child process; the parent is not affected."""
    np.savez_compressed(tmp_path / "big.npz", w=np.zeros(300_000_000, np.uint8))
    with pytest.raises(CheckpointError) as caught:
        Sandbox(SandboxLimits(memory=300 * 2**20, memory_per_byte=0)).checkpoint(tmp_path / "big.npz", target)
    assert caught.value.code == "too_many_elements"


def test_more_output_than_allowed_is_a_refusal(checkpoint: Path, target: Path) -> None:
    """The size of the written file is limited."""
    with pytest.raises(CheckpointError) as caught:
        Sandbox(SandboxLimits(output=100, output_per_byte=0)).checkpoint(checkpoint, target)
    assert caught.value.code == "too_many_elements"


def test_more_elements_than_allowed_is_a_refusal(tmp_path: Path, target: Path) -> None:
    """Also for data sets."""
    np.savez(tmp_path / "d.npz", x=X, y=Y)
    with pytest.raises(DatasetError) as caught:
        Sandbox(SandboxLimits(elements=100)).dataset(tmp_path / "d.npz", target)
    assert caught.value.code == "too_large"


def test_a_child_that_takes_too_long_is_ended(checkpoint: Path, target: Path) -> None:
    """With no time at all, it is ended before it can answer."""
    with pytest.raises(CheckpointError) as caught:
        Sandbox(SandboxLimits(seconds=0)).checkpoint(checkpoint, target)
    assert caught.value.code == "too_many_elements"


def test_errors_of_the_server_are_not_reported_as_errors_of_the_file(checkpoint: Path, tmp_path: Path) -> None:
    """A missing target folder raises an OSError, as a full disk does."""
    with pytest.raises(OSError, match="No such file") as caught:
        Sandbox().checkpoint(checkpoint, tmp_path / "absent")
    assert caught.value.errno == errno.ENOENT


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_is_reported_as_such(checkpoint: Path, target: Path) -> None:
    """ENOSPC reaches the API, which answers with 507."""
    (target / "weights.safetensors").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space") as caught:
        Sandbox().checkpoint(checkpoint, target)
    assert caught.value.errno == errno.ENOSPC


def test_sandboxes_run_concurrently(checkpoint: Path, tmp_path: Path) -> None:
    """From the threads of a server."""

    def read(number: int) -> int:
        folder = tmp_path / str(number)
        folder.mkdir()
        return Sandbox().checkpoint(checkpoint, folder).parameters

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(read, range(3))) == [8, 8, 8]


def test_the_child_does_not_import_torch_and_refuses_malformed_requests() -> None:
    """It starts fast; a malformed request ends it with status 2."""
    code = "import sys, cnet.sandbox; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    child = [sys.executable, "-I", "-m", "cnet.sandbox"]
    assert subprocess.run(child, input=json.dumps({"kind": "x"}).encode(), check=False).returncode == 2


def test_archives_of_shards_are_read_in_the_sandbox(tmp_path: Path, target: Path) -> None:
    """Under its limits, with shards of PyTorch too, and nothing of the archive is written by its name."""
    buffer = io.BytesIO()
    torch.save({"w": torch.ones(4, 4)}, buffer)
    source = tmp_path / "model.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("pytorch_model.bin.index.json", '{"weight_map": {"w": "m-00001-of-00001.bin"}}')
        archive.writestr("m-00001-of-00001.bin", buffer.getvalue())

    manifest = Sandbox().checkpoint(source, target)

    assert (manifest.format, manifest.parameters) == ("hf_sharded", 16)
    assert {path.name for path in target.iterdir()} == {"weights.safetensors", "manifest.json"}
