"""Torch files are written without PyTorch, and PyTorch reads them strictly."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import torch

from cnet.formats import TensorDescription, TensorsToWrite, read_checkpoint, write_checkpoint
from cnet.formats.torch.state_dict import state_dict
from cnet.weights import Tensor, Weights
from tests.unit.cnet.nets import assert_same_bits, every_type


def test_pytorch_reads_every_type(tmp_path: Path) -> None:
    """With types, shapes, strides, bits and ties; the reader of this project gives the same weights."""
    weights = every_type()
    path = tmp_path / "model.pt"

    write_checkpoint(weights, path, "torch")

    expected, found = state_dict(weights), torch.load(path, weights_only=True)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tensor.shape)
        assert found[name].is_contiguous()
        bits = [one.reshape(-1).view(torch.uint8).numpy().tobytes() for one in (found[name], tensor)]
        assert bits[0] == bits[1]
    for first, *copies in weights.tied:
        assert all(found[name].data_ptr() == found[first].data_ptr() for name in copies)
    assert_same_bits(read_checkpoint(path).weights, weights)
    assert torch.load(path, weights_only=True, mmap=True)["float32.weight"].equal(expected["float32.weight"])


def test_a_network_loads_it_strictly(tmp_path: Path) -> None:
    """Names beyond ASCII are written too."""
    network = torch.nn.ModuleDict({"größe": torch.nn.Conv2d(3, 4, 3), "bn": torch.nn.BatchNorm2d(4)})
    torch.save(network.state_dict(), tmp_path / "original.pt")

    write_checkpoint(read_checkpoint(tmp_path / "original.pt").weights, tmp_path / "model.pt", "torch")

    network.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True), strict=True)


def test_values_come_in_chunks_and_are_aligned(tmp_path: Path) -> None:
    """Each storage begins at a multiple of 64 bytes, and the same tensors give the same bytes."""
    values = np.arange(1000, dtype=np.float32)
    rows = [TensorDescription("a", "int8", (3,)), TensorDescription("b", "float32", (10, 100))]

    def chunks(name: str) -> list[np.ndarray]:
        return [np.zeros(3, np.int8)] if name == "a" else np.split(values, [1, 500])

    for name in ("one.pt", "two.pt"):
        write_checkpoint(TensorsToWrite(rows, chunks), tmp_path / name, "torch")

    assert (tmp_path / "one.pt").read_bytes() == (tmp_path / "two.pt").read_bytes()
    assert torch.load(tmp_path / "one.pt")["b"].flatten().tolist() == values.tolist()
    with zipfile.ZipFile(tmp_path / "one.pt") as archive:
        starts = [
            member.header_offset + 30 + len(member.filename) + len(member.extra)
            for member in archive.infolist()
            if "/data/" in member.filename
        ]
    assert [start % 64 for start in starts] == [0, 0]


def test_no_tensors_are_an_empty_dict(tmp_path: Path) -> None:
    """PyTorch reads that as well."""
    write_checkpoint(Weights.select([]), tmp_path / "model.pt", "torch")
    assert torch.load(tmp_path / "model.pt", weights_only=True) == {}

    write_checkpoint(Weights.select([Tensor("w", "float32", np.ones((), np.float32))]), tmp_path / "model.pt", "torch")
    assert torch.load(tmp_path / "model.pt", weights_only=True)["w"].shape == ()
