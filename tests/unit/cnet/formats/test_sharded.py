"""An index and its shards in one archive are one checkpoint; what the archive lacks is named."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from cnet.errors import CheckpointError
from cnet.formats import Limits, read_checkpoint
from tests.unit.cnet.formats.files import names, refusal

Members = dict[str, bytes]
INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
STATE = {
    "embed.weight": torch.randn(16, 8, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16),
    "head.weight": torch.ones(4, 4),
    "head.bias": torch.zeros(4),
}
MAP = {"embed.weight": FIRST, "head.weight": SECOND, "head.bias": SECOND}


def index(weight_map: object) -> bytes:
    """An index as Hugging Face writes it."""
    return json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}).encode()


def members() -> Members:
    """A sharded checkpoint with the other files of its folder."""
    first = save({"embed.weight": STATE["embed.weight"]}, {"format": "pt"})
    second = save({name: STATE[name] for name in ("head.weight", "head.bias")}, {"format": "pt"})
    return {"config.json": b"{}", INDEX: index(MAP), FIRST: first, SECOND: second, "tokenizer.model": b"\0"}


def zipped(path: Path, files: Members, kind: int = zipfile.ZIP_STORED) -> Path:
    """A zip of some files."""
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def deflated(path: Path, files: Members) -> Path:
    """A zip whose members are compressed."""
    return zipped(path, files, zipfile.ZIP_DEFLATED)


def tarred(path: Path, files: Members) -> Path:
    """A tar of some files."""
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return path


@pytest.mark.parametrize("folder", ["", "model/", "./model/"])
@pytest.mark.parametrize("pack", [zipped, deflated, tarred])
def test_an_archive_of_shards_is_one_checkpoint(
    tmp_path: Path, pack: Callable[[Path, Members], Path], folder: str
) -> None:
    """Every tensor with its bits, in the order of the index, whether the files are in a folder or not."""
    files = {f"{folder}{name}": data for name, data in members().items()}

    checkpoint = read_checkpoint(pack(tmp_path / "model", files))

    assert (checkpoint.format, names(checkpoint)) == ("hf_sharded", list(MAP))
    for name, tensor in STATE.items():
        assert checkpoint.weights[name].data.tobytes() == tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def test_shards_of_pytorch_are_read_too(tmp_path: Path) -> None:
    """Their storages have the same names in each file, and are different tensors all the same."""
    files = {"pytorch_model.bin.index.json": index({"a": "m-00001-of-00002.bin", "b": "m-00002-of-00002.bin"})}
    for name, value, old in (("a", 1.0, False), ("b", 2.0, True)):
        buffer = io.BytesIO()
        torch.save({name: torch.full((2, 2), value)}, buffer, _use_new_zipfile_serialization=not old)
        files[f"m-0000{int(value)}-of-00002.bin"] = buffer.getvalue()

    weights = read_checkpoint(zipped(tmp_path / "model.zip", files)).weights

    assert weights.tied == ()
    assert [weights[name].data.tolist() for name in "ab"] == [[[1.0] * 2] * 2, [[2.0] * 2] * 2]


def without(*lacking: str) -> Members:
    """The files of a sharded checkpoint less some of them."""
    return {name: data for name, data in members().items() if name not in lacking}


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        (without(INDEX), "missing_shard", "no index"),
        (without(SECOND), "missing_shard", SECOND),
        ({**members(), "other/" + INDEX: index(MAP)}, "ambiguous_weights", "several indexes"),
        ({**members(), INDEX: b"{"}, "corrupt", "not JSON"),
        ({**members(), INDEX: b'{"weight_map": {"a": "x", "a": "y"}}'}, "corrupt", "twice"),
        ({**members(), INDEX: b"[" * 100_000}, "corrupt", "not JSON"),
        ({**members(), INDEX: index({})}, "corrupt", "no map"),
        ({**members(), INDEX: index({"a": 3})}, "corrupt", "no map"),
        ({**members(), INDEX: index({**MAP, "more": FIRST})}, "corrupt", "'more'"),
        ({**members(), INDEX: index({"a": "../../etc/passwd"})}, "missing_shard", "passwd"),
        ({**members(), INDEX: index({"a": "config.json"})}, "corrupt", "neither"),
        ({**members(), FIRST: members()[FIRST][:-1]}, "truncated", "cut off"),
        ({**members(), FIRST: b""}, "empty_file", "empty"),
        ({**members(), "../evil": b"x"}, "unsafe_archive", "'../evil'"),
        ({**members(), "/evil": b"x"}, "unsafe_archive", "'/evil'"),
    ],
)
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_what_an_archive_lacks_is_named(
    tmp_path: Path, pack: Callable[[Path, Members], Path], files: Members, code: str, said: str
) -> None:
    """A missing index or shard, an index that contradicts the shards, and names that lead out of the archive."""
    error = refusal(pack(tmp_path / "model", files))

    assert error.code == code
    assert said in error.detail


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    """A link could name any file of the server."""
    path = tarred(tmp_path / "model.tar", without(SECOND))
    with tarfile.open(path, "a") as archive:
        header = tarfile.TarInfo(SECOND)
        header.type, header.linkname = kind, "/etc/passwd"
        archive.addfile(header)

    with pytest.raises(CheckpointError):
        read_checkpoint(path)


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    """Zip archives mark links by the mode of the file."""
    link = zipfile.ZipInfo(SECOND)
    link.create_system, link.external_attr = 3, 0o120777 << 16
    path = zipped(tmp_path / "model.zip", without(SECOND))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")

    assert refusal(path).code == "unsafe_archive"


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    """A member of zeros that inflates to more than the limits allow is not inflated."""
    path = deflated(tmp_path / "model.zip", {**members(), FIRST: bytes(10_000_000)})

    error = refusal(path, limits=Limits(free_bytes=1000, expansion=2))

    assert error.code == "too_many_elements"
