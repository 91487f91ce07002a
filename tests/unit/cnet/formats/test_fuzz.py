"""Damaged files of every format raise a CheckpointError or are read; no other error is raised."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from cnet.errors import CheckpointError
from cnet.formats import Limits, read_checkpoint
from cnet.formats.onnx.protobuf import encode_bytes as block
from cnet.formats.onnx.protobuf import encode_integer as number
from tests.fuzzing import fuzzed
from tests.unit.cnet.formats.files import legacy, saved, written

CODES = {
    *("truncated", "corrupt", "unsafe_pickle", "whole_module", "torchscript", "lfs_pointer", "html_page"),
    *("not_a_state_dict", "missing_shard", "not_finite", "unsupported_dtype", "unsupported_layout"),
    *("too_many_elements", "ambiguous_weights", "duplicate_name", "read"),
}
VALUE = {
    "epoch": 3,
    "state_dict": {"a.weight": torch.arange(12.0).reshape(3, 4), "a.n": torch.tensor(7), "b": torch.ones(2).bfloat16()},
}


def as_safetensors(folder: Path) -> Path:
    """A small safetensors file."""
    save_file(VALUE["state_dict"], folder / "x", {"format": "pt"})  # type: ignore[arg-type]
    return folder / "x"


def as_npz(folder: Path) -> Path:
    """A small npz with a compressed and an empty member."""
    np.savez_compressed(folder / "x.npz", a=np.arange(12.0).reshape(3, 4), b=np.arange(5), c=np.zeros((0, 2)))
    return folder / "x.npz"


def as_onnx(folder: Path) -> Path:
    """A small ONNX model: values as bytes, packed, and one by one."""
    numbers = number(2, 10) + block(8, b"h") + number(5, 15360) + block(5, b"\x80\x78\0")
    floats = number(1, 2) + number(2, 1) + block(8, b"f") + block(4, bytes(8))
    raw = block(1, b"\2\3") + number(2, 7) + block(8, b"r") + block(9, bytes(48))
    graph = b"".join(block(5, tensor) for tensor in (number(1, 3) + numbers, floats, raw))
    (folder / "x.onnx").write_bytes(number(1, 9) + block(2, b"cnet") + block(7, graph) + block(8, b""))
    return folder / "x.onnx"


FORMATS: dict[str, Callable[[Path], Path]] = {
    "zip": lambda folder: saved(folder, VALUE),
    "zip4": lambda folder: saved(folder, VALUE, pickle_protocol=4),
    "legacy": lambda folder: legacy(folder, VALUE),
    "safetensors": as_safetensors,
    "npz": as_npz,
    "onnx": as_onnx,
}


def outcome(path: Path) -> str:
    """The code of the refusal, or ``read``."""
    try:
        read_checkpoint(path, limits=Limits(free_bytes=2**20))
    except CheckpointError as error:
        return error.code
    return "read"


@cache
def undamaged(form: str) -> bytes:
    """A small file."""
    with tempfile.TemporaryDirectory() as folder:
        return FORMATS[form](Path(folder)).read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_undamaged_files_are_read(tmp_path: Path, form: str) -> None:
    """Otherwise the test of damaged files would prove nothing."""
    assert outcome(FORMATS[form](tmp_path)) == "read"


@pytest.mark.parametrize("form", FORMATS)
@fuzzed(400)
@given(data=st.data())
def test_damaged_files_raise_no_other_error(tmp_path: Path, form: str, data: st.DataObject) -> None:
    """Bytes are changed, removed and inserted, and the end is cut off."""
    good = bytearray(undamaged(form))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        change = data.draw(st.sampled_from(["flip", "set", "cut", "put"]))
        if change == "flip":
            good[at] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "set":
            good[at] = data.draw(st.sampled_from([0, 1, 40, 46, 82, 127, 128, 255]))
        elif change == "cut":
            del good[at : at + data.draw(st.integers(1, 9))]
        else:
            good[at:at] = data.draw(st.binary(min_size=1, max_size=9))
    end = data.draw(st.one_of(st.just(len(good)), st.integers(1, max(1, len(good)))))
    path = written(tmp_path, bytes(good[:end]) or b"\0")
    assert outcome(path) in CODES
