"""Files that are not checkpoints are recognized by their first bytes and refused with advice."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from cnet.errors import CheckpointError
from cnet.formats import refuse_lone_shard
from tests.unit.cnet.formats.files import refusal, written

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0f" + b"0" * 62 + b"\nsize 1234\n"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (LFS, "lfs_pointer"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "html_page"),
        (b"\n\n  <html lang='en'>", "html_page"),
        (b"\xef\xbb\xbf<!doctype HTML>", "html_page"),
        (b"<?xml version='1.0'?><Error/>", "html_page"),
        (b"{not json", "corrupt"),
        (json.dumps({"error": "not found"}).encode(), "not_a_state_dict"),
        (b"[" * 100_000, "corrupt"),
        (b'{"a":' * 100_000, "corrupt"),
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 100, "not_a_state_dict"),
        (b"GGUF\3\0\0\0", "not_a_state_dict"),
        (b"\x93NUMPY\1\0v\0{", "not_a_state_dict"),
        (b"\x1f\x8b\x08\0\0\0", "not_a_state_dict"),
        (b"hello, this is some text", "corrupt"),
        (b"\0" * 1000, "corrupt"),
        (b"\x80", "truncated"),
        (b"P", "corrupt"),
        (b"PK\x03\x04", "truncated"),
        (b"PK\x05\x06" + b"\0" * 18, "not_a_state_dict"),
    ],
)
def test_other_files_are_refused_by_kind(tmp_path: Path, data: bytes, code: str) -> None:
    """Each kind has its code."""
    error = refusal(written(tmp_path, data))
    assert error.code == code
    assert error.detail
    assert str(tmp_path) not in error.detail


def test_an_index_without_its_shards_is_refused(tmp_path: Path) -> None:
    """The index of a sharded checkpoint holds no weights."""
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    error = refusal(written(tmp_path, json.dumps(index, indent=2).encode()))
    assert error.code == "missing_shard"
    assert "2 shards" in error.detail


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, None])
def test_the_old_tar_format_is_refused_with_advice(tmp_path: Path, form: int | None) -> None:
    """Also without the mark ``ustar`` that later tar headers have."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form or tarfile.USTAR_FORMAT) as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            archive.addfile(tarfile.TarInfo(name))
    data = bytearray(buffer.getvalue())
    if form is None:
        data[257:265] = b"\0" * 8
        data[148:156] = b" " * 8
        data[148:156] = b"%06o\0 " % sum(data[:512])
    error = refusal(written(tmp_path, bytes(data)))
    assert error.code == "not_a_state_dict"
    assert "tar" in error.detail


@pytest.mark.parametrize("name", ["model-00001-of-00002.safetensors", "pytorch_model-00003-of-00010.bin"])
def test_one_shard_of_several_is_refused(name: str) -> None:
    """By its name: the content of a shard is a sound checkpoint."""
    with pytest.raises(CheckpointError) as caught:
        refuse_lone_shard(name)

    assert caught.value.code == "missing_shard"


@pytest.mark.parametrize("name", ["model-00001-of-00001.safetensors", "model.safetensors", "run-00012-of-mine.pt", ""])
def test_names_that_are_not_of_one_shard_of_several_are_accepted(name: str) -> None:
    """One shard of one is a whole checkpoint, and other names do not tell of shards."""
    refuse_lone_shard(name)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_is_unpacked_by_the_user(tmp_path: Path, form: int) -> None:
    """PyTorch cannot load a .nemo file, so the advice is to unpack it."""
    path = tmp_path / "speech.nemo"
    with tarfile.open(path, "w", format=form) as archive:
        archive.addfile(tarfile.TarInfo("./model_config.yaml"))

    error = refusal(path)

    assert error.code == "not_a_state_dict"
    assert "Unpack it" in error.detail
    assert "PyTorch" not in error.detail


@pytest.mark.parametrize("name", ["__0_0.distcp", ".metadata"])
def test_a_file_of_a_distributed_checkpoint_names_the_converter(name: str) -> None:
    """Its name tells what it is."""
    with pytest.raises(CheckpointError, match="dcp_to_torch") as caught:
        refuse_lone_shard(name)
    assert caught.value.code == "missing_shard"
