"""An ONNX model and the file with its values, in one archive, are one checkpoint."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cnet.formats import read_checkpoint
from tests.unit.cnet.formats.files import refusal
from tests.unit.cnet.formats.onnx.test_reader import FLOAT, block, net, number, tensor

VALUES = np.arange(8, dtype="<f4")
DATA = b"\0" * 64 + VALUES.tobytes()


def outside(**entries: str) -> bytes:
    """The fields of a tensor whose values are in another file."""
    stated = (block(13, block(1, key.encode()) + block(2, value.encode())) for key, value in entries.items())
    return b"".join(stated) + number(14, 1)


def model(**entries: str) -> bytes:
    """A model with one initializer of 2 x 4 floats."""
    return net(tensor("fc.weight", FLOAT, (2, 4), outside(**entries)))


def archive(path: Path, onnx: bytes, data: str = "model.onnx.data", *, tar: bool = False) -> Path:
    """The model and the other file, in a folder."""
    (path / "model.onnx").write_bytes(onnx)
    (path / "data").write_bytes(DATA)
    files = {"m/model.onnx": path / "model.onnx", f"m/{data}": path / "data", "m/readme.txt": path / "model.onnx"}
    packed = path / "packed"
    if tar:
        with tarfile.open(packed, "w") as tarred:
            for name, file in files.items():
                tarred.add(file, name)
    else:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, file in files.items():
                zipped.write(file, name)
    return packed


@pytest.mark.parametrize("tar", [False, True])
@pytest.mark.parametrize("data", ["model.onnx.data", "weights/fc"])
def test_the_values_of_another_file_are_read(tmp_path: Path, data: str, tar: bool) -> None:
    """From the stated position, whose length may be left out."""
    for length in ({"length": "32"}, {}):
        onnx = model(location=data, offset="64", **length)

        checkpoint = read_checkpoint(archive(tmp_path, onnx, data, tar=tar))

        assert checkpoint.format == "onnx"
        np.testing.assert_array_equal(checkpoint.weights["fc.weight"].data, VALUES.reshape(2, 4))


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ({"location": "other.data", "offset": "64"}, "missing_shard"),
        ({"location": "../../etc/passwd"}, "missing_shard"),
        ({"location": "/etc/passwd"}, "missing_shard"),
        ({"offset": "64"}, "missing_shard"),
        ({"location": "model.onnx.data", "offset": "65"}, "corrupt"),
        ({"location": "model.onnx.data", "offset": "-1"}, "corrupt"),
        ({"location": "model.onnx.data", "offset": "1e2"}, "corrupt"),
        ({"location": "model.onnx.data", "offset": "9" * 30}, "corrupt"),
        ({"location": "model.onnx.data", "offset": "64", "length": "31"}, "corrupt"),
    ],
)
def test_values_that_are_not_at_hand_are_named(tmp_path: Path, entries: dict[str, str], code: str) -> None:
    """A path out of the archive is no file of it, and bytes beyond the end are damage."""
    error = refusal(archive(tmp_path, model(**entries)))

    assert error.code == code
    assert "'fc.weight'" in error.detail
