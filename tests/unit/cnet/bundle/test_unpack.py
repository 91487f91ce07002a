"""Weights as files of other tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cnet import dtypes
from cnet.bundle import open_bundle, write_bundle
from cnet.bundle.unpack import unpack
from cnet.coding import ENCODERS
from cnet.errors import BundleError, CnetError
from cnet.formats import format_by_suffix, read_checkpoint, writable_formats, write_checkpoint
from cnet.formats.torch.state_dict import state_dict
from cnet.weights import Tensor, Weights
from tests.unit.cnet.nets import compress, every_type

RNG = np.random.default_rng(0)


def _weights() -> Weights:
    """Several element types, a scalar, an empty tensor, awkward names, and a tied pair."""
    floats = RNG.standard_normal((4, 6)).astype(np.float32)
    tensors = [
        Tensor("file", "float32", floats),
        Tensor("half", "float16", floats.astype(np.float16)),
        Tensor("brain/ü", "bfloat16", dtypes.narrow(floats, "bfloat16")),
        Tensor("eight", "float8_e4m3fn", dtypes.narrow(floats, "float8_e4m3fn")),
        Tensor("count", "int64", np.array(7, np.int64)),
        Tensor("flags", "bool", floats > 0),
        Tensor("empty", "float32", np.zeros((0, 3), np.float32)),
        Tensor("tied", "float32", floats),
    ]
    return Weights.select(tensors, tied=[("file", "tied")])


WEIGHTS = _weights()


@pytest.mark.parametrize(("format_", "suffix"), [("safetensors", ".safetensors"), ("torch", ".pt")])
def test_torch_reads_true_types(tmp_path: Path, format_: str, suffix: str) -> None:
    """Names, shapes, types and bits are those of the weights."""
    path = tmp_path / f"model{suffix}"
    write_checkpoint(WEIGHTS, path, format_)
    loaded = load_file(path) if format_ == "safetensors" else torch.load(path, weights_only=True)
    assert set(loaded) == {tensor.name for tensor in WEIGHTS}
    for tensor in WEIGHTS:
        value = loaded[tensor.name]
        assert (tuple(value.shape), value.dtype) == (tensor.shape, getattr(torch, tensor.dtype))
        assert value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() == tensor.data.tobytes()


def test_numpy_reads_npz_without_pickle(tmp_path: Path) -> None:
    """bfloat16 and float8 come as their bits; a tensor may be called ``file``."""
    write_checkpoint(WEIGHTS, tmp_path / "model.npz", "npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as loaded:
        assert loaded.files == [tensor.name for tensor in WEIGHTS]
        for tensor in WEIGHTS:
            assert loaded[tensor.name].dtype == tensor.data.dtype
            assert np.array_equal(loaded[tensor.name], tensor.data)


@pytest.mark.parametrize("format_", writable_formats())
def test_equal_weights_give_equal_files(tmp_path: Path, format_: str) -> None:
    """Whatever the file is called."""
    write_checkpoint(WEIGHTS, tmp_path / "one", format_)
    write_checkpoint(WEIGHTS, tmp_path / "another", format_)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "another").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_state_dict_shares_tied_tensors_and_copies_the_rest() -> None:
    """Writing into the dict leaves the weights as they are."""
    tensors = state_dict(WEIGHTS)
    assert tensors["file"] is tensors["tied"]
    tensors["half"].zero_()
    assert WEIGHTS["half"].data.any()


@pytest.mark.parametrize(
    ("name", "format_"),
    [("a.safetensors", "safetensors"), ("a.PT", "torch"), ("a.pth", "torch"), ("a.npz", "npz"), ("a.onnx", "onnx")],
)
def test_suffix_names_the_format(name: str, format_: str) -> None:
    """In either case."""
    assert format_by_suffix(Path(name)) == format_


def test_unknown_formats_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    """By suffix and by name; no file is left."""
    with pytest.raises(CnetError, match=r"\.safetensors"):
        format_by_suffix(Path("model.xyz"))
    with pytest.raises(CnetError, match="safetensors") as caught:
        write_checkpoint(WEIGHTS, tmp_path / "model", "xyz")
    assert caught.value.code == "unknown_format"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("encoder", ["npz", "compact"])
@pytest.mark.parametrize("format_", ["torch", "npz"])
def test_complex128_is_kept_bit_for_bit(tmp_path: Path, encoder: str, format_: str) -> None:
    """Through a bundle too, where the format to write has the type."""
    values = np.random.default_rng(0).normal(size=(7, 5, 2)).view(np.complex128)[..., 0]
    plain = every_type()
    weights = Weights.select([*plain.tensors, Tensor("c", "complex128", values)], tied=plain.tied)
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), ENCODERS.create(encoder))

    unpack(open_bundle(tmp_path / "b.npz"), tmp_path / "out", format_)

    assert read_checkpoint(tmp_path / "out").weights["c"].data.tobytes() == values.tobytes()


@pytest.mark.parametrize("format_", ["safetensors", "npz", "onnx"])
def test_a_bundle_is_unpacked_to_the_same_bytes(tmp_path: Path, format_: str) -> None:
    """Piece by piece or all at once, for every element type, tied and empty tensors."""
    weights = every_type()
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), ENCODERS.create("compact"))
    bundle = open_bundle(tmp_path / "b.npz")

    unpack(bundle, tmp_path / "pieces", format_)
    write_checkpoint(bundle.weights(), tmp_path / "whole", format_)

    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
    assert bundle.raw_bytes == weights.raw_bytes


def test_a_graph_is_asked_for_with_onnx_only(tmp_path: Path) -> None:
    """No other format could hold it."""
    weights = every_type()
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), ENCODERS.create("compact"))

    with pytest.raises(CnetError, match=r"npz.*no graph"):
        unpack(open_bundle(tmp_path / "b.npz"), tmp_path / "out.npz", "npz", like=tmp_path / "net.onnx")


def test_a_damaged_bundle_leaves_the_old_file(tmp_path: Path) -> None:
    """What was written until the damage was found is removed."""
    weights = every_type()
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), ENCODERS.create("compact"))
    content = bytearray((tmp_path / "b.npz").read_bytes())
    content[150] ^= 1
    (tmp_path / "out.safetensors").write_bytes(b"old")

    with pytest.raises(BundleError):
        unpack(open_bundle(bytes(content)), tmp_path / "out.safetensors", "safetensors")

    assert (tmp_path / "out.safetensors").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.npz", "out.safetensors"]
