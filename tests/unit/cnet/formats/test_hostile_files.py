"""Files made to run code, to exhaust memory or to crash the reader are refused with a clear message."""

from __future__ import annotations

import argparse
import collections
import io
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cnet.formats import Limits, read_checkpoint
from tests.unit.cnet.formats.files import Pid, legacy, pickled, refusal, saved, torch_zip, view, written

FLOATS = np.arange(6, dtype="<f4").tobytes()


class Touch:
    """Unpickled freely, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


class Net(torch.nn.Module):
    """A user's own network."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)


@pytest.mark.parametrize("save", [saved, legacy])
@pytest.mark.parametrize("beside", [True, False])
def test_code_in_a_pickle_is_not_run(tmp_path: Path, save: Any, beside: bool) -> None:
    """The message names the function that the file calls, wherever the call is in the file."""
    mark = tmp_path / "mark"
    value = {"w": torch.ones(2), "extra": Touch(mark)} if beside else Touch(mark)
    error = refusal(save(tmp_path, value))
    assert error.code == "unsafe_pickle"
    assert "state_dict" in error.detail
    assert not mark.exists()


@pytest.mark.parametrize(
    "attack",
    [
        b"cos\nsystem\n(S'touch MARK'\ntR.",
        b"(S'touch MARK'\nios\nsystem\n.",
        b"(cos\nsystem\nS'touch MARK'\no.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\ntouch MARK\x85R.",
        b"\x80\x02cbuiltins\neval\nX\x13\x00\x00\x00open('MARK','w') + 1\x85R.",
        b"\x80\x02cbuiltins\ngetattr\ncos\nsystem\nX\x01\x00\x00\x00x\x86R.",
        b"\x80\x02ctorch.storage\n_load_from_bytes\nC\x01x\x85R.",
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_no_opcode_runs_code(tmp_path: Path, attack: bytes, zipped: bool) -> None:
    """REDUCE, INST, OBJ and STACK_GLOBAL all use the list of allowed names, in a torch zip and in a plain pickle."""
    mark = tmp_path / "mark"
    attack = attack.replace(b"MARK", str(mark).encode())
    error = refusal(torch_zip(tmp_path, attack) if zipped else written(tmp_path, attack))
    assert error.code in ("unsafe_pickle", "corrupt")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (argparse.Namespace(lr=0.1), "argparse.Namespace"),
        (np.float64(0.9), "numpy"),
        (Path("x"), "pathlib"),
        (collections.defaultdict(list), "collections.defaultdict"),
        (np.ones(2), "numpy"),
    ],
    ids=["namespace", "numpy scalar", "path", "defaultdict", "array"],
)
def test_objects_beside_the_weights_are_refused_by_class(tmp_path: Path, value: object, name: str) -> None:
    """The message names the class and what to do."""
    error = refusal(saved(tmp_path, {"state_dict": {"w": torch.ones(2)}, "extra": value}))
    assert error.code == "unsafe_pickle"
    assert name in error.detail
    assert "torch.save(model.state_dict(), path)" in error.detail
    assert "weights_only" not in error.detail


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("save", [saved, legacy])
@pytest.mark.parametrize("nested", [True, False])
def test_a_whole_model_is_refused_as_such(tmp_path: Path, save: Any, nested: bool) -> None:
    """A pickled module of the user's own class needs the user's code."""
    error = refusal(save(tmp_path, {"model": Net(), "epoch": 1} if nested else Net()))
    assert error.code == "whole_module"
    assert "state_dict" in error.detail


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_torchscript_archive_is_refused_as_such(tmp_path: Path) -> None:
    """It is a program."""
    path = tmp_path / "script.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), str(path))
    assert refusal(path).code == "torchscript"


def test_a_torch_export_program_is_refused_with_advice(tmp_path: Path) -> None:
    """It is uploaded as a program."""
    path = tmp_path / "program.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("program/archive_format", "pt2")
    error = refusal(path)
    assert error.code == "not_a_state_dict"
    assert "program" in error.detail


def test_a_plain_pickle_of_plain_values_is_refused_with_advice(tmp_path: Path) -> None:
    """The file was not written by torch.save."""
    error = refusal(written(tmp_path, pickle.dumps({"w": [1.0, 2.0]})))
    assert error.code == "not_a_state_dict"
    assert "torch.save" in error.detail


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (0, (7,), (1,)),
        (3, (4,), (1,)),
        (0, (2, 3), (4, 1)),
        (2**62, (1,), (1,)),
        (0, (2**62, 2**62), (1, 1)),
        (0, (2**70,), (1,)),
        (-1, (2,), (1,)),
        (0, (-2,), (1,)),
        (0, (2, 3), (-3, 1)),
        (0, (2,), (1, 1)),
        (0, (2.0,), (1,)),
        (0, (True,), (1,)),
        ("0", (2,), (1,)),
        (0, "ab", "ab"),
        (None, None, None),
    ],
)
def test_views_beyond_their_storage_are_corrupt(tmp_path: Path, offset: object, shape: object, strides: object) -> None:
    """Nothing outside a storage of six floats can be read, whatever sizes the file states."""
    value = pickled({"w": view(Pid("0", "FloatStorage", 6), offset, shape, strides)})
    assert refusal(torch_zip(tmp_path, value, {"0": FLOATS})).code == "corrupt"


def test_a_storage_shorter_than_stated_is_corrupt(tmp_path: Path) -> None:
    """The record is smaller than the pickle states."""
    value = pickled({"w": view(Pid("0", "FloatStorage", 10**12), 0, (10**12,), (1,))})
    assert refusal(torch_zip(tmp_path, value, {"0": FLOATS})).code == "corrupt"


def test_a_missing_storage_is_corrupt(tmp_path: Path) -> None:
    """A record that the pickle names is not in the archive."""
    value = pickled({"w": view(Pid("1", "FloatStorage", 6), 0, (6,), (1,))})
    error = refusal(torch_zip(tmp_path, value, {"0": FLOATS}))
    assert error.code == "corrupt"


def test_one_value_repeated_by_strides_of_zero_is_refused_before_memory_is_allocated(tmp_path: Path) -> None:
    """A file of a kilobyte that claims sixteen terabytes."""
    value = pickled({"w": view(Pid("0", "FloatStorage", 6), 0, (2**20, 2**22), (0, 0))})
    error = refusal(torch_zip(tmp_path, value, {"0": FLOATS}), limits=Limits(elements=2**60))
    assert error.code == "too_many_elements"


def test_the_limit_of_elements_holds(tmp_path: Path) -> None:
    """All tensors together."""
    path = saved(tmp_path, {"a": torch.ones(6), "b": torch.ones(5)})
    assert refusal(path, limits=Limits(elements=10)).code == "too_many_elements"
    assert read_checkpoint(path, limits=Limits(elements=11)).weights.parameters == 11


@pytest.mark.parametrize("save", [saved, legacy])
def test_a_pickle_that_is_too_long_is_refused(tmp_path: Path, save: Any) -> None:
    """The part of the file that is not values has its own limit."""
    path = save(tmp_path, {"w": torch.ones(2), "text": "x" * 10_000})
    assert refusal(path, limits=Limits(pickle_bytes=5_000)).code == "too_many_elements"


@pytest.mark.parametrize("save", [saved, legacy])
def test_a_dict_that_contains_itself_is_read_once(tmp_path: Path, save: Any) -> None:
    """The search for weights ends."""
    value: dict[str, Any] = {"w": torch.ones(2, 2)}
    value["model"] = value
    checkpoint = read_checkpoint(save(tmp_path, value))
    assert checkpoint.weights.parameters == 4


def test_a_dict_that_contains_only_itself_has_no_weights(tmp_path: Path) -> None:
    """The search for weights ends and finds none."""
    value: dict[str, Any] = {}
    value["model"] = value
    assert refusal(saved(tmp_path, value)).code == "not_a_state_dict"


def nested_dicts(depth: int) -> bytes:
    """A pickle of a dict in a dict in a dict ..."""
    return b"\x80\x02" + b"}X\x01\x00\x00\x00a" * depth + b"N" + b"s" * depth + b"."


@pytest.mark.parametrize("depth", [100, 3_000, 200_000])
def test_deeply_nested_dicts_are_refused(tmp_path: Path, depth: int) -> None:
    """There is no RecursionError and no crash."""
    assert refusal(torch_zip(tmp_path, nested_dicts(depth))).code == "not_a_state_dict"


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x80\x02}" + b")" + b"\x85" * 300_000 + b"Ns.",  # nested tuples as a key: hashing recurses in C
        b"\x80\x02r\xff\xff\xff\xff.",  # memo at the largest index
        b"\x80\x02N" + b"r\xff\xff\xff\xff" + b".",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b".",  # bytes of any length
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",  # a bytearray of a terabyte
        b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b".",  # a frame of any length
        b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x01\x85R.",
        b"\x80\x02\x82\x01.",  # the extension registry
        b"\x80\x02]" + b"2" * 1000 + b".",
        b"I" + b"9" * 100_000 + b"\n.",
        b"\x80\x02}]Ns.",
        b"\x80\x02}(NNNu.",
        b"\x80\x02(((((",
        b"\x80\x02R.",
        b"\x80\x02u.",
        b"\x80\x7f.",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        b"\x80\x02X\x02\x00\x00\x00\xff\xfe.",
        b"",
    ],
)
def test_pickle_bombs_are_refused(tmp_path: Path, bomb: bytes) -> None:
    """Each is built to crash, hang or fill the memory of an unpickler."""
    for path in (torch_zip(tmp_path, bomb), written(tmp_path, b"\x80\x02" + bomb)):
        assert refusal(path).code in ("corrupt", "truncated", "not_a_state_dict")


def test_names_that_are_not_valid_text_are_corrupt(tmp_path: Path) -> None:
    """A lone surrogate cannot be encoded."""
    good = pickled({"w": view(Pid("0", "FloatStorage", 6), 0, (6,), (1,))})
    bad = good.replace(b"X\x01\x00\x00\x00w", b"X\x03\x00\x00\x00\xed\xa0\x80")
    assert bad != good
    assert refusal(torch_zip(tmp_path, bad, {"0": FLOATS})).code == "corrupt"


def test_booleans_that_are_neither_0_nor_1_are_corrupt(tmp_path: Path) -> None:
    """A byte of 2, for one."""
    value = pickled({"w": view(Pid("0", "BoolStorage", 2), 0, (2,), (1,))})
    assert refusal(torch_zip(tmp_path, value, {"0": b"\x01\x02"})).code == "corrupt"


def test_a_flipped_byte_of_a_value_is_corrupt(tmp_path: Path) -> None:
    """The checksum of the record does not match."""
    path = saved(tmp_path, {"w": torch.full((64,), 1.5)})
    data = path.read_bytes()
    at = data.index(struct.pack("<f", 1.5) * 3)
    assert refusal(written(tmp_path, data[: at + 4] + b"\x01" + data[at + 5 :])).code == "corrupt"


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    """Readers differ in which of the two they return."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}.")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("archive/data.pkl", b"\x80\x02}.")
    assert refusal(written(tmp_path, buffer.getvalue())).code == "duplicate_name"


@pytest.mark.parametrize("save", [saved, legacy])
def test_a_cut_file_is_truncated_wherever_it_is_cut(tmp_path: Path, save: Any) -> None:
    """From the first bytes to the last."""
    data = save(tmp_path, {"a.weight": torch.ones(20, 20), "b": torch.arange(10)}).read_bytes()
    for cut in range(8, len(data) - 1, 61):
        assert refusal(written(tmp_path, data[:cut])).code == "truncated", cut
