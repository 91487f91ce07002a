"""The canonical form returns what was written, and its bytes are always the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from cnet.errors import CheckpointError
from cnet.formats import read_checkpoint
from cnet.formats.canonical_file import is_canonical, read_canonical, write_canonical
from cnet.weights import Selection, Tensor, Weights
from tests.unit.cnet.formats.files import saved

SHARED = torch.arange(6.0).reshape(2, 3)
VALUE = {
    "odd": torch.tensor([1, 0, 1], dtype=torch.uint8),
    "tied.a": SHARED,
    "bf": torch.tensor([[1.5, -2.0]], dtype=torch.bfloat16),
    "tied.b": SHARED,
    "n": torch.tensor(2**53 + 1),
    "flag": torch.tensor([True, False]),
    "c": torch.tensor([1 + 2j], dtype=torch.complex64),
    "empty": torch.zeros(0, 4),
    "große Gewichte": torch.zeros(2, 2, dtype=torch.float64),
}


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    """Tensors of many kinds."""
    return read_checkpoint(saved(tmp_path, VALUE)).weights


def test_the_canonical_form_returns_the_weights(tmp_path: Path, weights: Weights) -> None:
    """Order, names, types, shapes, bits and ties."""
    write_canonical(tmp_path / "w", weights)
    again = read_canonical(tmp_path / "w")
    assert [(t.name, t.dtype, t.shape, t.data.tobytes()) for t in again] == [
        (t.name, t.dtype, t.shape, t.data.tobytes()) for t in weights
    ]
    assert again.tied == weights.tied == (("tied.a", "tied.b"),)
    assert again.compressible == weights.compressible
    assert all(tensor.data.flags.aligned and not tensor.data.flags.writeable for tensor in again)


def test_the_reader_of_the_canonical_form_chooses_compressible_tensors(tmp_path: Path, weights: Weights) -> None:
    """The file does not state which tensors are compressible."""
    write_canonical(tmp_path / "w", weights)
    assert read_canonical(tmp_path / "w", Selection(exclude=("tied.*", "g*"))).compressible == ("bf",)


def test_the_bytes_are_the_same_each_time(tmp_path: Path, weights: Weights) -> None:
    """Also when the canonical form itself is read as a checkpoint, ties included."""
    write_canonical(tmp_path / "one", weights)
    write_canonical(tmp_path / "two", read_checkpoint(tmp_path / "one").weights)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_safetensors_package_reads_it(tmp_path: Path, weights: Weights) -> None:
    """It is an ordinary file of that format, tied copies included."""
    write_canonical(tmp_path / "w", weights)
    loaded = load_file(tmp_path / "w")
    assert set(loaded) == set(VALUE)
    assert all(torch.equal(loaded[name], tensor) for name, tensor in VALUE.items())


def test_ties_that_a_file_states_falsely_are_ignored(tmp_path: Path) -> None:
    """Groups of unequal tensors, of unknown names, and malformed groups."""
    tensors = (Tensor("a", "float32", np.ones(2, np.float32)), Tensor("b", "float32", np.zeros(2, np.float32)))
    for tied in ((("a", "b"),), (("a", "x"),), (("a", "a"),), (("a",),)):
        write_canonical(tmp_path / "w", Weights(tensors, (), tied))
        assert read_checkpoint(tmp_path / "w").weights.tied == ()


def test_a_damaged_canonical_file_is_refused(tmp_path: Path, weights: Weights) -> None:
    """A file that was cut off."""
    write_canonical(tmp_path / "w", weights)
    (tmp_path / "w").write_bytes((tmp_path / "w").read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="cut off"):
        read_canonical(tmp_path / "w")


def test_a_regular_safetensors_file_stays_as_it_is(tmp_path: Path) -> None:
    """What other tools have saved, with metadata or without, and what we have written."""
    plain = {"b": torch.ones(3), "a": torch.zeros(2, 2, dtype=torch.float16)}
    for name, metadata in (("without", None), ("with", {"format": "pt", "author": "ann"})):
        save_file(plain, tmp_path / name, metadata)
        assert is_canonical(tmp_path / name, read_checkpoint(tmp_path / name).weights)
    write_canonical(tmp_path / "ours", read_checkpoint(saved(tmp_path, VALUE)).weights)
    assert is_canonical(tmp_path / "ours", read_checkpoint(tmp_path / "ours").weights)


def test_a_file_with_something_to_rewrite_is_not_canonical(tmp_path: Path) -> None:
    """A prefix that is cut off, and values that begin at an odd byte."""
    save_file({"module.a": torch.ones(3), "module.b": torch.ones(2)}, tmp_path / "prefix")
    assert not is_canonical(tmp_path / "prefix", read_checkpoint(tmp_path / "prefix").weights)
    assert is_canonical(tmp_path / "prefix", read_checkpoint(tmp_path / "prefix", strip_prefix=False).weights)
    (tmp_path / "odd").write_bytes(_odd_file())
    assert not is_canonical(tmp_path / "odd", read_checkpoint(tmp_path / "odd").weights)


def _odd_file() -> bytes:
    """A file whose float32 values begin behind one byte."""
    rows = {
        "n": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "w": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
    }
    header = json.dumps(rows).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + bytes(9)
