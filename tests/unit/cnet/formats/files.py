"""Small checkpoint files for the tests, written by PyTorch or put together byte by byte."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import torch

from cnet.errors import CheckpointError
from cnet.formats import Checkpoint, read_checkpoint


def saved(folder: Path, value: object, **options: Any) -> Path:
    """``value`` as ``torch.save`` writes it."""
    path = folder / "model.pth"
    torch.save(value, path, **options)
    return path


def legacy(folder: Path, value: object) -> Path:
    """``value`` in the format before PyTorch 1.6."""
    return saved(folder, value, _use_new_zipfile_serialization=False)


def written(folder: Path, data: bytes) -> Path:
    """A file of these bytes."""
    path = folder / "file.bin"
    path.write_bytes(data)
    return path


def torch_zip(folder: Path, pickled: bytes, records: dict[str, bytes] | None = None, **extra: bytes) -> Path:
    """A torch zip with this pickle and these storages; ``extra`` are further records such as ``byteorder``."""
    path = folder / "hand.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        for name, data in (records or {}).items():
            archive.writestr(f"archive/data/{name}", data)
        for name, data in extra.items():
            archive.writestr(f"archive/{name}", data)
    return path


class Pid:
    """What a pickle refers to as a persistent id."""

    def __init__(self, key: str, kind: str, count: int) -> None:
        self.pid = ("storage", _Name(f"torch {kind}"), key, "cpu", count)


class _Name:
    """A name that a pickle imports."""

    def __init__(self, name: str) -> None:
        self.name = name


class _View:
    """A tensor of a storage."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments


def view(pid: Pid, offset: object, shape: object, strides: object) -> _View:
    """A call of ``torch._utils._rebuild_tensor_v2`` with these arguments, valid or not."""
    requires_grad, hooks = False, dict[str, object]()
    return _View(pid, offset, shape, strides, requires_grad, hooks)


def pickled(value: object) -> bytes:
    """A pickle of protocol 2, as PyTorch writes, of dicts, tuples and placeholders for what torch saves."""
    return b"\x80\x02" + _encode(value) + b"."


def _encode(value: object) -> bytes:
    if isinstance(value, _Name):
        return b"c" + value.name.replace(" ", "\n").encode() + b"\n"
    if isinstance(value, Pid):
        return _encode(value.pid) + b"Q"
    if isinstance(value, _View):
        return _encode(_Name("torch._utils _rebuild_tensor_v2")) + _encode(value.arguments) + b"R"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_encode, value)) + b"t"
    if isinstance(value, dict):
        return b"}(" + b"".join(_encode(key) + _encode(item) for key, item in value.items()) + b"u"
    return pickle.dumps(value, 2)[2:-1].split(b"q\x00")[0]


def safetensors(folder: Path, header: object, data: bytes = b"") -> Path:
    """A safetensors file with this header (an object, or its text) and these data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return written(folder, struct.pack("<Q", len(text)) + text + data)


def npz(folder: Path, members: dict[str, bytes]) -> Path:
    """A zip of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return written(folder, buffer.getvalue())


def refusal(path: Path, **options: Any) -> CheckpointError:
    """The error that reading the file raises."""
    try:
        checkpoint = read_checkpoint(path, **options)
    except CheckpointError as error:
        return error
    raise AssertionError(f"was read: {checkpoint}")


def names(checkpoint: Checkpoint) -> list[str]:
    """Names of all tensors."""
    return [tensor.name for tensor in checkpoint.weights]
