"""The pipeline on files, without a server."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from cnet.bundle import open_bundle
from cnet.bundle.unpack import unpack
from cnet.errors import ConstraintNotMetError, DatasetError
from cnet.formats import read_checkpoint, write_checkpoint
from cnet.formats.canonical_file import write_canonical
from cnet.pipeline import SilentRunObserver
from cnet.pipeline.local.compress_file import compress_file, load_calibration, load_dataset
from cnet.spec import JobSpec
from tests.unit.cnet.pipeline.small_jobs import blobs, random_weights, training_spec, weights_spec


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A safetensors file."""
    write_checkpoint(random_weights(), tmp_path / "net.safetensors", "safetensors")
    return tmp_path / "net.safetensors"


def test_selected_bundle_is_written(checkpoint: Path, tmp_path: Path) -> None:
    """The file is the selected point's, and only it is left beside the checkpoint."""
    outcome = compress_file(checkpoint, weights_spec(), tmp_path / "net.cnet.npz")
    bundle = open_bundle(tmp_path / "net.cnet.npz")
    bundle.verify()
    assert bundle.sizes.sha256 == outcome.points[outcome.selected].sha256
    assert set(tmp_path.iterdir()) == {checkpoint, tmp_path / "net.cnet.npz"}


def test_streaming_gives_the_same_symbols(checkpoint: Path, tmp_path: Path) -> None:
    """Read pass by pass, the file decodes to the same bits."""
    spec = weights_spec(encode={"name": "compact"})
    compress_file(checkpoint, spec, tmp_path / "memory.npz", streaming=False)
    compress_file(checkpoint, spec, tmp_path / "stream.npz", streaming=True)

    memory, stream = open_bundle(tmp_path / "memory.npz"), open_bundle(tmp_path / "stream.npz")
    assert {name: memory[name].tobytes() for name in memory} == {name: stream[name].tobytes() for name in stream}


def test_no_file_is_written_if_the_target_is_not_met(checkpoint: Path, tmp_path: Path) -> None:
    """An older file stays as it is."""
    out = tmp_path / "out.npz"
    out.write_bytes(b"older")
    with pytest.raises(ConstraintNotMetError):
        compress_file(checkpoint, weights_spec(target={"max_bytes": 1}), out)
    assert out.read_bytes() == b"older"


def test_a_full_disk_is_reported_under_the_name_of_the_file(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not under that of the run's own copy, whose disk has space; an older file stays as it is."""
    out = tmp_path / "out.npz"
    out.write_bytes(b"older")

    def full(source: Path, _: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(source))

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(OSError, match=r"No space left.*out\.npz") as caught:
        compress_file(checkpoint, weights_spec(), out)
    assert caught.value.filename == str(out)
    assert out.read_bytes() == b"older"


def test_dataset_is_a_path_or_a_name(tmp_path: Path) -> None:
    """An npz file trains a baseline from scratch; a built-in name gives its images."""
    data = blobs()
    train = {"x_train": data.train.input, "y_train": data.train.labels}
    np.savez(tmp_path / "data.npz", **train, x_test=data.test.input, y_test=data.test.labels)
    spec = training_spec(
        dataset=str(tmp_path / "data.npz"), prune={"name": "magnitude", "sparsity": 0.5}, recover={"epochs": 0}
    )
    outcome = compress_file(None, spec, tmp_path / "out.npz", folder=tmp_path / "state")
    assert outcome.baseline.accuracy is not None
    assert load_dataset("digits").input_shape == (1, 8, 8)


def test_unknown_dataset_is_refused_with_the_known_ones() -> None:
    """Neither a file nor a name."""
    with pytest.raises(DatasetError, match="digits") as caught:
        load_dataset("no-such-thing")
    assert caught.value.code == "unknown_dataset"


def test_a_path_without_a_file_is_named_by_its_use(tmp_path: Path) -> None:
    """Not as a name that is unknown; a folder is to be packed."""
    spec = JobSpec.parse({"architecture": {"program": "net.pt2"}, "calibrate": {"inputs": "nope.npz"}})
    with pytest.raises(DatasetError) as caught:
        load_calibration(spec, None, SilentRunObserver())
    assert caught.value.detail == "calibration inputs 'nope.npz': there is no such file. Check the path."
    with pytest.raises(DatasetError, match=r"data set '.*': there is no such file"):
        load_dataset(str(tmp_path / "nope"))
    with pytest.raises(DatasetError, match="it is a folder"):
        load_dataset(str(tmp_path))


@pytest.mark.parametrize("streaming", [False, True])
def test_the_metadata_of_a_safetensors_file_is_carried_through(tmp_path: Path, streaming: bool) -> None:
    """Report F: from the checkpoint by the canonical file and the bundle to the file that is unpacked."""
    metadata = {"format": "pt", "author": "Zoë", "license": "mit"}
    save_file({"w": np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)}, tmp_path / "m", metadata)
    write_canonical(tmp_path / "canonical", read_checkpoint(tmp_path / "m").weights)

    for source in (tmp_path / "m", tmp_path / "canonical"):
        compress_file(source, weights_spec(encode={"name": "compact"}), tmp_path / "b.npz", streaming=streaming)
        unpack(open_bundle(tmp_path / "b.npz"), tmp_path / "out", "safetensors")
        with safe_open(tmp_path / "out", "np") as file:
            found = dict(file.metadata())
            found.pop("cnet")
            assert found == metadata


def test_every_safetensors_file_states_a_format(checkpoint: Path, tmp_path: Path) -> None:
    """Report F: loaders refuse a file without ``format``; a bundle of such a file notes no metadata."""
    compress_file(checkpoint, weights_spec(), tmp_path / "b.npz")
    bundle = open_bundle(tmp_path / "b.npz")
    unpack(bundle, tmp_path / "out", "safetensors")

    with safe_open(tmp_path / "out", "np") as file:
        assert file.metadata()["format"] == "pt"
    assert "metadata" not in bundle.manifest["extra"]
