"""Torch files of every kind are read as PyTorch reads them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from cnet.formats import read_checkpoint
from tests.unit.cnet.formats.files import Pid, legacy, names, pickled, refusal, saved, torch_zip, view

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.complex64, torch.int64, torch.int32, torch.int16, torch.int8, torch.bool),
    *(torch.uint64, torch.uint32, torch.uint16, torch.uint8),
]
OLD_DTYPES = [dtype for dtype in DTYPES if dtype not in (torch.uint64, torch.uint32, torch.uint16)]


def bits(tensor: torch.Tensor) -> bytes:
    """The bytes of a tensor in C order."""
    return bytes(tensor.detach().resolve_conj().contiguous().reshape(-1).view(torch.uint8).numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_element_type_is_read_bit_for_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    """Bits, shape and name of the type are those that were saved."""
    tensor = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    read = read_checkpoint(saved(tmp_path, {"w": tensor})).weights["w"]
    assert (read.dtype, read.shape) == (str(dtype).removeprefix("torch."), (2, 3))
    assert read.data.tobytes() == bits(tensor)


@pytest.mark.parametrize("dtype", OLD_DTYPES, ids=str)
def test_legacy_files_are_read_like_zip_files(tmp_path: Path, dtype: torch.dtype) -> None:
    """The format before 1.6 gives the same tensors."""
    tensor = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    checkpoint = read_checkpoint(legacy(tmp_path, {"a": tensor, "b": tensor[0].clone()}))
    assert checkpoint.format == "torch"
    assert checkpoint.weights["a"].data.tobytes() == bits(tensor)
    assert checkpoint.weights["b"].data.tobytes() == bits(tensor[0])


@pytest.mark.parametrize("save", [saved, legacy])
def test_strides_give_c_order(tmp_path: Path, save: object) -> None:
    """Transposed, sliced and expanded tensors are read as ``contiguous`` returns them."""
    base = torch.arange(120.0).reshape(2, 3, 4, 5)
    views = {
        "transposed": base.permute(3, 0, 2, 1),
        "sliced": base[:, 1, ::2, 1:4],
        "expanded": base[0, 0, 0].expand(6, 5),
        "channels_last": base.clone().to(memory_format=torch.channels_last),
    }
    weights = read_checkpoint(save(tmp_path, views)).weights  # type: ignore[operator]
    for name, tensor in views.items():
        assert np.array_equal(weights[name].data, tensor.contiguous().numpy()), name
        assert weights[name].data.flags.c_contiguous


def test_a_slice_of_a_large_tensor_keeps_the_slice(tmp_path: Path) -> None:
    """A file of four megabytes with a view of ten floats has ten parameters."""
    path = saved(tmp_path, {"w": torch.arange(1_000_000.0)[500:510]})
    assert path.stat().st_size > 4_000_000
    weights = read_checkpoint(path).weights
    assert (weights.parameters, weights.raw_bytes) == (10, 40)
    assert weights["w"].data.tolist() == list(range(500, 510))


@pytest.mark.parametrize("save", [saved, legacy])
def test_scalars_and_empty_tensors_keep_their_shapes(tmp_path: Path, save: object) -> None:
    """Shape () and dimensions of size zero are kept."""
    tensors = {"scalar": torch.tensor(3.0), "one": torch.ones(1), "empty": torch.zeros(0, 3), "none": torch.zeros(0)}
    weights = read_checkpoint(save(tmp_path, tensors)).weights  # type: ignore[operator]
    assert {t.name: t.shape for t in weights} == {"scalar": (), "one": (1,), "empty": (0, 3), "none": (0,)}
    assert all(isinstance(t.data, np.ndarray) for t in weights)


def test_parameters_buffers_and_attributes_are_plain_tensors(tmp_path: Path) -> None:
    """The gradient flag, Python attributes and the class of a tensor do not matter."""
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    parameter.note = "mine"  # type: ignore[attr-defined]
    tagged = torch.zeros(2)
    tagged.note = 1  # type: ignore[attr-defined]
    value = {"p": parameter, "q": torch.nn.Parameter(torch.ones(3)), "t": tagged, "b": torch.nn.Buffer(torch.ones(1))}
    assert names(read_checkpoint(saved(tmp_path, value))) == ["p", "q", "t", "b"]


def test_conjugate_and_negative_views_are_resolved(tmp_path: Path) -> None:
    """The stored operations of complex tensors are applied, also to scalars."""
    base = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
    weights = read_checkpoint(saved(tmp_path, {"conj": base.conj(), "scalar": base.conj()[0]})).weights
    assert weights["conj"].data.tolist() == [1 - 2j, 3 + 4j]
    assert (weights["scalar"].data.shape, weights["scalar"].data.item()) == ((), 1 - 2j)
    weights = read_checkpoint(saved(tmp_path, {"neg": base.conj().imag, "scalar": base.conj().imag[1]})).weights
    assert weights["neg"].data.tolist() == [-2.0, 4.0]
    assert (weights["scalar"].data.shape, weights["scalar"].data.item()) == ((), 4.0)


@pytest.mark.parametrize("save", [saved, legacy])
def test_tied_tensors_are_found_by_their_storage(tmp_path: Path, save: object) -> None:
    """Two names of one view are tied and count once; other views of the storage are tensors of their own."""
    shared = torch.arange(12.0).reshape(3, 4)
    value = {"a": shared, "x": torch.ones(3, 4), "b": shared, "t": shared.t(), "part": shared[:2], "more": shared[1:]}
    weights = read_checkpoint(save(tmp_path, value)).weights  # type: ignore[operator]
    assert weights.tied == (("a", "b"),)
    assert weights.parameters == 12 + 12 + 12 + 8 + 8
    assert weights.compressible == ("a", "x", "t", "part", "more")


def test_empty_tensors_are_never_tied(tmp_path: Path) -> None:
    """Empty tensors have no values to share."""
    empty = torch.zeros(0, 2)
    assert read_checkpoint(saved(tmp_path, {"a": empty, "b": empty})).weights.tied == ()


def test_big_endian_files_are_swapped(tmp_path: Path) -> None:
    """The byteorder record decides how storages are read."""
    pid = Pid("0", "FloatStorage", 3)
    value = pickled({"w": view(pid, 0, (3,), (1,))})
    path = torch_zip(tmp_path, value, {"0": np.array([1, 2, 3], ">f4").tobytes()}, byteorder=b"big")
    assert read_checkpoint(path).weights["w"].data.tolist() == [1.0, 2.0, 3.0]


def test_files_without_a_byteorder_record_are_little_endian(tmp_path: Path) -> None:
    """As PyTorch wrote them before 2.1, with cuda tags or without."""
    value = pickled({"w": view(Pid("94021", "cuda\nFloatStorage".replace("\n", " "), 2), 0, (2,), (1,))})
    value = value.replace(b"ctorch\ncuda\nFloatStorage", b"ctorch.cuda\nFloatStorage")
    path = torch_zip(tmp_path, value, {"94021": np.array([1, 2], "<f4").tobytes()})
    assert read_checkpoint(path).weights["w"].data.tolist() == [1.0, 2.0]


def test_an_archive_that_was_packed_again_with_compression_is_read(tmp_path: Path) -> None:
    """Deflated records are inflated."""
    original = saved(tmp_path, {"w": torch.ones(100, 100), "v": torch.arange(5)})
    packed = tmp_path / "packed.pth"
    with zipfile.ZipFile(original) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    weights = read_checkpoint(packed).weights
    assert weights["w"].data.sum() == 10_000
    assert weights["v"].data.tolist() == [0, 1, 2, 3, 4]


def test_files_without_checksums_are_read(tmp_path: Path) -> None:
    """PyTorch writes zeros where it was told to save no checksums."""
    from torch.utils.serialization import config

    before = config.save.compute_crc32
    config.save.compute_crc32 = False
    try:
        path = saved(tmp_path, {"w": torch.ones(3)})
    finally:
        config.save.compute_crc32 = before
    assert read_checkpoint(path).weights["w"].data.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("zipped", [True, False])
def test_every_pickle_protocol_is_read(tmp_path: Path, protocol: int, zipped: bool) -> None:
    """``torch.save`` has an option for it."""
    value = {"state_dict": {"w": torch.ones(2, 2), "n": torch.tensor(7)}, "epoch": 3, "lr": 0.1, "big": 2**70}
    path = saved(tmp_path, value, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    assert names(read_checkpoint(path)) == ["w", "n"]


def test_a_state_dict_with_its_metadata_is_read(tmp_path: Path) -> None:
    """An OrderedDict with ``_metadata``, as every module gives, in the order of the module."""
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Linear(4, 2))
    checkpoint = read_checkpoint(saved(tmp_path, net.state_dict()))
    assert names(checkpoint) == list(net.state_dict())
    assert checkpoint.weights.compressible == ("0.weight", "2.weight")
    assert checkpoint.warnings == ()


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("layout", ["coo", "csr", "quantized", "meta", "nested"])
def test_layouts_without_an_array_are_refused_by_name(tmp_path: Path, layout: str) -> None:
    """The tensor and its layout are named."""
    dense = torch.eye(3)
    make = {
        "coo": dense.to_sparse,
        "csr": dense.to_sparse_csr,
        "quantized": lambda: torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8),
        "meta": lambda: torch.empty(3, device="meta"),
        "nested": lambda: torch.nested.nested_tensor([dense, dense]),
    }
    error = refusal(saved(tmp_path, {"fine": dense, "odd": make[layout]()}))
    assert error.code == "unsupported_layout"
    assert "'odd'" in error.detail


@pytest.mark.parametrize("dtype", [torch.float8_e5m2fnuz, torch.float8_e4m3fnuz], ids=str)
def test_types_that_are_not_supported_are_refused_by_name(tmp_path: Path, dtype: torch.dtype) -> None:
    """The tensor and its type are named."""
    error = refusal(saved(tmp_path, {"odd": torch.zeros(2).to(dtype)}))
    assert error.code == "unsupported_dtype"
    assert "'odd'" in error.detail
    assert str(dtype).removeprefix("torch.") in error.detail


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.float8_e5m2])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_values_that_are_not_finite_are_refused_by_name(tmp_path: Path, dtype: torch.dtype, value: float) -> None:
    """The message names the tensor, where it is a weight; masks and other tensors are kept."""
    tensor = torch.arange(64.0).reshape(8, 8) / 64
    tensor[2, 3] = value
    error = refusal(saved(tmp_path, {"fine": torch.ones(2), "layer.weight": tensor.to(dtype)}))
    assert error.code == "not_finite"
    assert "'layer.weight'" in error.detail


def test_extra_states_that_hold_bytes_are_named(tmp_path: Path) -> None:
    """The advice is not to save ``model.state_dict()``, which the user did, but to leave the entries out."""
    state = {"fc.weight": torch.ones(2, 2), "fc._extra_state": io.BytesIO(b"scales"), "attention._extra_state": None}
    for value in (state, {"model": state}):
        error = refusal(saved(tmp_path, value))

        assert error.code == "unsafe_pickle"
        assert "'fc._extra_state'" in error.detail
        assert "'attention._extra_state'" not in error.detail
        assert "isinstance(value, torch.Tensor)" in error.detail
