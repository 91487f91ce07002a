"""Safetensors files: every byte is accounted for, and every element type is read bit for bit."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from cnet.formats import read_checkpoint
from tests.unit.cnet.formats.files import names, refusal, safetensors, written

ROW = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DATA = struct.pack("<2f", 1, 2)
DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.complex64, torch.int64, torch.int32, torch.int16, torch.int8, torch.bool),
    *(torch.uint64, torch.uint32, torch.uint16, torch.uint8),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_element_type_is_read_bit_for_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    """Bits, shape and name of the type are those that were saved, also where the tensor is not aligned in the file."""
    tensor = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    save_file({"z": torch.zeros(3, dtype=torch.uint8), "w": tensor}, tmp_path / "x.safetensors")
    read = read_checkpoint(tmp_path / "x.safetensors").weights["w"]
    assert (read.dtype, read.shape) == (str(dtype).removeprefix("torch."), (2, 3))
    assert read.data.tobytes() == bytes(tensor.reshape(-1).view(torch.uint8).numpy())
    assert read.data.flags.aligned


def test_scalars_empty_tensors_and_prefixes(tmp_path: Path) -> None:
    """Shapes () and (0, 3) are kept, a common prefix is cut."""
    save_file({"module.a": torch.tensor(2.0), "module.b": torch.zeros(0, 3)}, tmp_path / "x", {"format": "pt"})
    checkpoint = read_checkpoint(tmp_path / "x")
    assert {tensor.name: tensor.shape for tensor in checkpoint.weights} == {"a": (), "b": (0, 3)}
    assert (checkpoint.format, checkpoint.stripped_prefix) == ("safetensors", "module.")


def test_names_keep_the_order_of_the_header(tmp_path: Path) -> None:
    """Not the order of the values in the file."""
    header = {"b": {**ROW, "data_offsets": [8, 16]}, "a": ROW}
    assert names(read_checkpoint(safetensors(tmp_path, header, DATA * 2))) == ["b", "a"]


@pytest.mark.parametrize(
    ("header", "data", "code"),
    [
        ({"w": ROW}, DATA[:-1], "truncated"),
        ({"w": ROW}, b"", "truncated"),
        ({"w": ROW}, DATA + b"x", "corrupt"),
        ({"w": {**ROW, "shape": [3]}}, DATA, "corrupt"),
        ({"w": {**ROW, "shape": [2**62, 2**62]}}, DATA, "corrupt"),
        ({"w": {**ROW, "shape": [-2]}}, DATA, "corrupt"),
        ({"w": ROW, "v": {**ROW, "shape": [0, 2**62, 2**62], "data_offsets": [8, 8]}}, DATA, "corrupt"),
        ({"w": {**ROW, "shape": [True, 2]}}, DATA, "corrupt"),
        ({"w": {**ROW, "shape": 2}}, DATA, "corrupt"),
        ({"w": {**ROW, "shape": [1] * 40 + [2]}}, DATA, "corrupt"),
        ({"w": {**ROW, "data_offsets": [8, 0]}}, DATA, "corrupt"),
        ({"w": {**ROW, "data_offsets": [0, 8, 8]}}, DATA, "corrupt"),
        ({"w": {**ROW, "extra": 1}}, DATA, "corrupt"),
        ({"w": [1, 2]}, DATA, "corrupt"),
        ({"w": ROW, "v": ROW}, DATA, "corrupt"),
        ({"w": ROW, "v": {**ROW, "data_offsets": [12, 20]}}, DATA * 3, "corrupt"),
        ({"w": {**ROW, "dtype": "F4"}}, DATA, "unsupported_dtype"),
        ({"w": {**ROW, "dtype": 3}}, DATA, "unsupported_dtype"),
        ({"w": ROW, "__metadata__": {"a": 1}}, DATA, "corrupt"),
        ({"w": ROW, "__metadata__": []}, DATA, "corrupt"),
        ({}, b"", "not_a_state_dict"),
        (b'{"w": {"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":' + b'{"dtype":"F32"}}', DATA, "duplicate_name"),
        (b'{"w": NaN}', DATA, "corrupt"),
        (b'{"w": ' + b"[" * 50_000, DATA, "corrupt"),
        (b'{"w": ' + b"9" * 5_000 + b"}", DATA, "corrupt"),
        (b'{"\xff": 1}', DATA, "corrupt"),
        ({"w": {**ROW, "dtype": "BOOL", "shape": [8]}}, DATA, "corrupt"),
        ({"w": {**ROW, "shape": [1, 2]}}, struct.pack("<2f", 1, float("nan")), "not_finite"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, header: Any, data: bytes, code: str) -> None:
    """Each fault has its code, whatever sizes the file states."""
    assert refusal(safetensors(tmp_path, header, data)).code == code


def test_a_header_longer_than_the_file_is_truncated(tmp_path: Path) -> None:
    """The file ends within its header."""
    whole = safetensors(tmp_path, {"w": ROW}, DATA).read_bytes()
    assert refusal(written(tmp_path, whole[:20])).code == "truncated"


def test_a_weights_key_is_refused_for_a_flat_file(tmp_path: Path) -> None:
    """There are no entries to choose from."""
    assert refusal(safetensors(tmp_path, {"w": ROW}, DATA), weights_key="model").code == "not_a_state_dict"


def test_arrays_are_views_of_the_file(tmp_path: Path) -> None:
    """Nothing is copied, and nothing can be written."""
    header = json.dumps({"w": ROW}).encode()
    read = read_checkpoint(safetensors(tmp_path, header + b" " * (-len(header) % 8), DATA))
    assert np.array_equal(read.weights["w"].data, [1, 2])
    assert not read.weights["w"].data.flags.writeable


def test_metadata_is_read_and_the_longest_is_left_out_with_a_notice(tmp_path: Path) -> None:
    """Report F: our own entry is not part of it, and text that is no Unicode is damage."""
    save_file({"w": torch.zeros(2)}, tmp_path / "x", {"author": "me", "cnet": "{}"})
    assert read_checkpoint(tmp_path / "x").weights.metadata == {"author": "me"}

    save_file({"w": torch.zeros(2)}, tmp_path / "x", {"author": "m" * 70_000})
    checkpoint = read_checkpoint(tmp_path / "x")
    assert (checkpoint.weights.metadata, [n.code for n in checkpoint.warnings]) == ({}, ["ignored_metadata"])

    header = {"__metadata__": {"a": "\ud800"}, "w": ROW}
    assert refusal(safetensors(tmp_path, header, DATA)).code == "corrupt"
