"""Npz checkpoints: any byte order and memory order; pickles and zip bombs are refused."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cnet.errors import CnetError
from cnet.formats import Limits, read_checkpoint, write_checkpoint
from cnet.weights import Tensor, Weights
from tests.unit.cnet.formats.files import names, npz, refusal, written

DTYPES = ["f8", "f4", "f2", "c8", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]


def npy(array: np.ndarray) -> bytes:
    """One array as ``numpy.save`` writes it."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header(descr: str, shape: str, data: bytes = b"", fortran: str = "False") -> bytes:
    """An npy file with any text as its header."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("compressed", [True, False])
def test_every_element_type_and_byte_order_is_read(tmp_path: Path, kind: str, order: str, compressed: bool) -> None:
    """The values are those that were saved, little-endian."""
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(np.dtype(order + kind))
    (np.savez_compressed if compressed else np.savez)(tmp_path / "x.npz", w=array, f=np.asfortranarray(array))
    checkpoint = read_checkpoint(tmp_path / "x.npz")
    assert checkpoint.format == "npz"
    for name in ("w", "f"):
        data = checkpoint.weights[name].data
        assert data.dtype == np.dtype("<" + kind)
        assert data.flags.c_contiguous
        assert np.array_equal(data, array)


def test_scalars_empty_arrays_and_names_with_slashes_are_read(tmp_path: Path) -> None:
    """A name may have slashes."""
    np.savez(tmp_path / "x.npz", **{"layer/kernel": np.ones((2, 3)), "s": np.float32(2), "e": np.ones((0, 3))})
    checkpoint = read_checkpoint(tmp_path / "x.npz")
    assert {t.name: t.shape for t in checkpoint.weights} == {"layer/kernel": (2, 3), "s": (), "e": (0, 3)}


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (np.array([{}, 1], dtype=object), "unsafe_pickle"),
        (np.array(["a", "b"]), "unsupported_dtype"),
        (np.array([b"a"]), "unsupported_dtype"),
        (np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]), "unsupported_dtype"),
        (np.zeros(2, dtype=np.clongdouble), "unsupported_dtype"),
        (np.zeros(2, dtype="datetime64[s]"), "unsupported_dtype"),
        (np.zeros(2, dtype="V2"), "unsupported_dtype"),
        (np.array([[1.0, np.nan]]), "not_finite"),
        (np.zeros((1,) * 33) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else np.zeros(2, "V2"), ""),
    ],
)
def test_arrays_that_cannot_be_weights_are_refused_by_name(tmp_path: Path, array: np.ndarray, code: str) -> None:
    """The array is named."""
    np.savez(tmp_path / "x.npz", fine=np.ones(2), odd=array)
    error = refusal(tmp_path / "x.npz")
    assert error.code == (code or "unsupported_layout")
    assert "'odd'" in error.detail


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x00" + b"\0" * 20,
        npy(np.ones(4))[:-3],
        npy(np.ones(4)) + b"more",
        header("'<f4'", "(-1,)"),
        header("'<f4'", "(9223372036854775807, 9223372036854775807)"),
        header("'<f4'", "(2.0,)", b"\0" * 8),
        header("'nonsense'", "(2,)", b"\0" * 8),
        header("'<f4'", "(" * 5_000, b""),
        header("'<f4'", "(" + "1," * 20_000 + ")", b""),
        header("__import__('os')", "(2,)"),
        header("'\\d'", "(2,)"),
    ],
)
def test_damaged_headers_are_corrupt(tmp_path: Path, member: bytes) -> None:
    """Whatever sizes they state."""
    assert refusal(npz(tmp_path, {"w.npy": member})).code == "corrupt"


def test_a_zip_bomb_is_refused_before_memory_is_allocated(tmp_path: Path) -> None:
    """A member of compressed zeros, a thousand times as large as its file."""
    path = tmp_path / "x.npz"
    np.savez_compressed(path, w=np.zeros(10_000_000, np.uint8))
    error = refusal(path, limits=Limits(free_bytes=0))
    assert error.code == "too_many_elements"
    assert refusal(path, limits=Limits(elements=1000)).code == "too_many_elements"


def test_a_member_of_another_size_than_stated_is_corrupt(tmp_path: Path) -> None:
    """The directory states another size than the inflated data have."""
    path = tmp_path / "x.npz"
    np.savez_compressed(path, w=np.zeros(1000, np.uint8))
    with zipfile.ZipFile(path) as archive:
        size = archive.infolist()[0].file_size
    data = path.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", size + 1000))
    assert refusal(written(tmp_path, data)).code == "corrupt"


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    """NumPy would return the last."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", npy(np.ones(2)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("w.npy", npy(np.zeros(2)))
    assert refusal(path).code == "duplicate_name"


def test_names_keep_their_order(tmp_path: Path) -> None:
    """That of the archive."""
    np.savez(tmp_path / "x.npz", b=np.ones(1), a=np.ones(1))
    assert names(read_checkpoint(tmp_path / "x.npz")) == ["b", "a"]


@pytest.mark.parametrize(
    ("descr", "itemsize", "dtype"),
    [("'<f1'", 1, "float8_e5m2"), ("'|V1'", 1, "float8"), ("'|V2'", 2, "bfloat16"), ("'<V2'", 2, "bfloat16")],
)
def test_types_of_ml_dtypes_are_named(tmp_path: Path, descr: str, itemsize: int, dtype: str) -> None:
    """What ``numpy.savez`` writes of them is no damaged header; the message says how to save them."""
    array = header(descr, "(4,)") + bytes(4 * itemsize)

    error = refusal(npz(tmp_path, {"w.npy": array}))

    assert error.code == "unsupported_dtype"
    assert dtype in error.detail
    assert "astype(numpy.float32)" in error.detail


def test_names_that_differ_after_a_nul_are_not_mixed_up(tmp_path: Path) -> None:
    """A name in a zip archive ends at a NUL character, so that two tensors would become one."""
    tensors = [Tensor(name, "float32", np.ones((2, 2), np.float32)) for name in ("w\0a", "w\0b")]

    with pytest.raises(CnetError, match="Write safetensors") as caught:
        write_checkpoint(Weights.select(tensors), tmp_path / "w.npz", "npz")

    assert caught.value.code == "unwritable"
    assert not list(tmp_path.iterdir())
