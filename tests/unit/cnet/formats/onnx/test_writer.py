"""ONNX files are compared with bytes that the package onnx 1.23 wrote and checked."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cnet import dtypes
from cnet.errors import CnetError
from cnet.formats import TensorDescription, TensorsToWrite
from cnet.formats.onnx.protobuf import encode_bytes as block
from cnet.formats.onnx.protobuf import encode_integer as number
from cnet.formats.onnx.writer import write_onnx

# y = 2 (x · fc.weightᵀ + fc.bias), of onnx.helper.make_model; the factor 2 is an initializer `two`
NET = base64.b64decode(
    "CAgSA25ldDIFYSBuZXQ6ywEKMAoBeAoJZmMud2VpZ2h0CgdmYy5iaWFzEgJ5MCIER2VtbSoNCgZ0cmFuc0IYAaABAgoRCgJ5MAoDdHdvEgF5IgNN"
    "dWwSA25ldCorCAIIAxABQglmYy53ZWlnaHRKGAAAAAAAAIA/AAAAQAAAQEAAAIBAAACgQCoXCAIQAUIHZmMuYmlhc0oIAACAPwAAgL8qDRABIgQA"
    "AABAQgN0d29aFAoBeBIPCg0IARIJCgMSAW4KAggDYhQKAXkSDwoNCAESCQoDEgFuCgIIAkIECgAQEQ=="
)
WEIGHT = np.arange(6, dtype="<f4").reshape(2, 3)
BIAS = np.array([1, -1], "<f4")
ROWS = (
    TensorDescription("fc.bias", "float32", (2,)),
    TensorDescription("fc.weight", "float32", (2, 3)),
    TensorDescription("seen", "int64", ()),  # as batch norm counts its batches; no graph has it
)
VALUES: dict[str, npt.NDArray[np.generic]] = {
    "fc.weight": (WEIGHT * 3 + 1).astype("<f4"), "fc.bias": BIAS * 5, "seen": np.array(5, "<i8")
}  # fmt: skip


@pytest.fixture
def like(tmp_path: Path) -> Path:
    """The net's file."""
    path = tmp_path / "net.onnx"
    path.write_bytes(NET)
    return path


def _write(path: Path, rows: tuple[TensorDescription, ...], like: Path | None = None) -> bytes:
    write_onnx(path, TensorsToWrite(rows, lambda name: [VALUES[name]]), like)
    return path.read_bytes()


def _two(name: str) -> npt.NDArray[np.generic]:
    """Two elements of a type, with the bytes 0, 1, 2, ..."""
    kind = dtypes.by_name(name).numpy
    return np.array([False, True]) if name == "bool" else np.arange(2 * kind.itemsize, dtype=np.uint8).view(kind)


def test_every_type_is_written_as_onnx_writes_it(tmp_path: Path) -> None:
    """A scalar, an empty tensor and each type: the file is, byte for byte, what onnx serializes for the same model."""
    order = (
        *("float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "bool", "float16", "float64"),
        *("uint32", "uint64", "complex64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    )
    rows = [TensorDescription("count", "int64", ()), TensorDescription("empty", "float32", (0, 3))]
    rows += [TensorDescription(name, name, (2,)) for name in order]
    values = {name: _two(name) for name in order}
    values |= {"count": np.zeros((), "<i8"), "empty": np.zeros((0, 3), "<f4")}

    write_onnx(tmp_path / "all.onnx", TensorsToWrite(rows, lambda name: [values[name]]))

    digest = hashlib.sha256((tmp_path / "all.onnx").read_bytes()).hexdigest()
    assert set(order) == dtypes.names() - {"complex128"}  # read back in test_checkpoint_reader
    assert digest == "ac975e8dc99c792ec4103656ee5baf998cd6161379b15b25e07e0945e2dd46b5"


def test_weights_replace_those_of_a_template(tmp_path: Path, like: Path) -> None:
    """No other byte of the file changes, whatever the order of the tensors."""
    expected = NET.replace(WEIGHT.tobytes(), VALUES["fc.weight"].tobytes()).replace(
        BIAS.tobytes(), (BIAS * 5).tobytes()
    )

    assert _write(tmp_path / "out.onnx", ROWS, like) == expected != NET


def test_tensors_are_written_in_chunks(tmp_path: Path) -> None:
    """The file does not depend on the sizes of the chunks."""
    rows = ROWS[1:2]
    whole = _write(tmp_path / "whole.onnx", rows)

    chunks = TensorsToWrite(rows, lambda name: np.split(VALUES[name].reshape(-1), [1, 1, 4]))
    write_onnx(tmp_path / "pieces.onnx", chunks)

    assert (tmp_path / "pieces.onnx").read_bytes() == whole


@pytest.mark.parametrize(
    ("row", "match"),
    [
        (TensorDescription("fc2.weight", "float32", (2, 3)), "no initializers .*: 'fc2.weight'"),
        (TensorDescription("fc.weight", "float32", (3, 2)), "shapes .*: 'fc.weight'"),
        (TensorDescription("fc.weight", "float16", (2, 3)), "element types: 'fc.weight'"),
    ],
)
def test_a_template_of_another_network_is_refused(
    tmp_path: Path, like: Path, row: TensorDescription, match: str
) -> None:
    """A missing or different weight would give wrong results; nothing is written."""
    with pytest.raises(CnetError, match=match) as caught:
        _write(tmp_path / "out.onnx", (row,), like)

    assert caught.value.code == "not_alike"
    assert not (tmp_path / "out.onnx").exists()


def test_weights_in_another_file_are_replaced_or_refused(tmp_path: Path) -> None:
    """Those that are written may be anywhere in the template; the others would be lost."""
    tensor = number(1, 2) + number(2, 1) + block(8, b"fc.bias") + block(13, b"") + number(14, 1)
    like = tmp_path / "net.onnx"
    like.write_bytes(number(1, 8) + block(7, block(5, tensor)))

    assert _write(tmp_path / "out.onnx", ROWS[:1], like).endswith((BIAS * 5).tobytes())
    with pytest.raises(CnetError, match=r"another file: 'fc.bias'"):
        _write(tmp_path / "out.onnx", ROWS[2:], like)


def test_one_of_tied_tensors_is_enough(tmp_path: Path, like: Path) -> None:
    """An exporter writes them once; a name that is tied to no name of the graph is still missing."""
    rows = (*ROWS, TensorDescription("decoder.weight", "float32", (2, 3)))
    expected = _write(tmp_path / "out.onnx", ROWS, like)

    tied = TensorsToWrite(rows, lambda name: [VALUES[name]], [("fc.weight", "decoder.weight")])
    write_onnx(tmp_path / "out.onnx", tied, like)

    assert (tmp_path / "out.onnx").read_bytes() == expected
    tied = TensorsToWrite(rows, lambda name: [VALUES[name]], [("decoder.weight", "other")])
    with pytest.raises(CnetError, match=r"no initializers .*: 'decoder\.weight'"):
        write_onnx(tmp_path / "out.onnx", tied, like)


def test_two_initializers_of_one_name_are_refused(tmp_path: Path) -> None:
    """No runtime accepts them."""
    tensor = block(5, number(1, 2) + number(2, 1) + block(8, b"fc.bias") + block(9, BIAS.tobytes()))
    like = tmp_path / "net.onnx"
    like.write_bytes(block(7, tensor + tensor))

    with pytest.raises(CnetError, match=r"twice: 'fc\.bias'"):
        _write(tmp_path / "out.onnx", ROWS[:1], like)


def test_other_fields_of_a_template_are_copied(tmp_path: Path) -> None:
    """Unknown ones, before and after the graph and between its initializers, sparse and quantized ones included."""
    tensor = number(1, 2) + number(2, 1) + block(8, b"fc.bias") + block(4, BIAS.tobytes())
    other = block(5, number(2, 8) + block(8, b"words") + block(6, b"a string tensor"))
    around = [number(1, 8) + block(99, b"x"), other + block(15, b"sparse") + other, other, b"\x65abcd" + block(14, b"")]
    like = tmp_path / "net.onnx"
    like.write_bytes(around[0] + block(7, around[1] + block(5, tensor) + around[2]) + around[3])

    written = _write(tmp_path / "out.onnx", ROWS[:1], like)

    new = block(5, number(1, 2) + number(2, 1) + block(8, b"fc.bias") + block(9, (BIAS * 5).tobytes()))
    assert written == around[0] + block(7, around[1] + new + around[2]) + around[3]


def test_a_device_file_is_refused_as_a_template(tmp_path: Path) -> None:
    """A device file has no end, and reading it would exhaust memory."""
    with pytest.raises(CnetError, match="zero: it is not an ONNX model"):
        _write(tmp_path / "out.onnx", ROWS, Path("/dev/zero"))


def test_a_template_longer_than_any_model_is_not_read(tmp_path: Path) -> None:
    """A sparse file of terabytes would exhaust memory."""
    like = tmp_path / "net.onnx"
    with like.open("wb") as file:
        file.truncate(2**40)

    with pytest.raises(CnetError, match="not an ONNX model"):
        _write(tmp_path / "out.onnx", ROWS, like)


def _initializer(about: bytes) -> bytes:
    return block(7, block(5, about + number(2, 1) + block(8, b"fc.bias")))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"text", NET[:-3], NET[:40], number(7, 1), NET + block(7, b"")),
        _initializer(number(1, 1) * 2000),
        _initializer(block(1, b"\x01" * 2000)),
        _initializer(block(1, b"\xff")),
        block(7, block(5, number(2, 1) + block(8, b"\xff"))),
        block(7, block(5, number(2, 1) + number(8, 1))),
        block(7, block(5, b"")),
    ],
)
def test_files_that_are_not_models_are_no_templates(tmp_path: Path, content: bytes) -> None:
    """Truncated, of other formats, without a graph or with two, with truncated or unnamed initializers."""
    like = tmp_path / "net.onnx"
    like.write_bytes(content)

    with pytest.raises(CnetError, match=r"net\.onnx") as caught:
        _write(tmp_path / "out.onnx", ROWS, like)

    assert caught.value.code == "not_onnx"


def test_networks_beyond_the_limit_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    """The limit is that of the format; no tensor is read."""
    large = TensorsToWrite([TensorDescription("w", "float32", (2**29,))], lambda _: pytest.fail("was read"))
    with pytest.raises(CnetError, match="safetensors") as caught:
        write_onnx(tmp_path / "out.onnx", large)
    assert caught.value.code == "too_large"
    assert not (tmp_path / "out.onnx").exists()

    size = len(_write(tmp_path / "fits.onnx", ROWS))
    fitting = TensorsToWrite(ROWS, lambda name: [VALUES[name]])
    write_onnx(tmp_path / "fits.onnx", fitting, most_bytes=size)
    with pytest.raises(CnetError, match="2 GiB"):
        write_onnx(tmp_path / "fits.onnx", fitting, most_bytes=size - 1)
