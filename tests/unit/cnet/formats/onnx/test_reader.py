"""ONNX models: initializers of every type in every representation, and what is refused."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.formats import Limits, MappedFile, TensorDescription, TensorsToWrite, read_checkpoint
from cnet.formats.onnx.protobuf import encode_bytes as block
from cnet.formats.onnx.protobuf import encode_integer as number
from cnet.formats.onnx.protobuf import encode_varint as varint
from cnet.formats.onnx.reader import is_onnx
from cnet.formats.onnx.writer import write_onnx
from cnet.weights import Tensor
from tests.fuzzing import fuzzed
from tests.unit.cnet.formats.files import names, refusal, written

FLOAT, INT32, BOOL, DOUBLE = 1, 6, 9, 11
FOUR_FLOATS = struct.pack("<4f", 1, -2, 0, 0.5)


def tensor(name: str, kind: int, dims: tuple[int, ...], *values: bytes) -> bytes:
    """A TensorProto."""
    about = b"".join(number(1, extent) for extent in dims) + number(2, kind)
    return about + block(8, name.encode()) + b"".join(values)


def net(*initializers: bytes, rest: bytes = b"") -> bytes:
    """A model with these initializers and further fields of the graph."""
    return number(1, 8) + block(7, rest + b"".join(block(5, each) for each in initializers)) + block(8, number(2, 17))


def read_one(folder: Path, initializer: bytes) -> Tensor:
    """The only tensor."""
    (read,) = read_checkpoint(written(folder, net(initializer))).weights
    return read


def packed(*values: int) -> bytes:
    """Varints in a row; negative ones in 64 bits."""
    return b"".join(varint(value % 2**64) for value in values)


def test_the_reader_reads_what_the_writer_writes(tmp_path: Path) -> None:
    """Every type, a scalar and an empty tensor, bit for bit, in the order of the file, under their own names."""
    shapes: dict[str, tuple[int, ...]] = {"scalar": (), "empty": (0, 3)} | dict.fromkeys(sorted(dtypes.names()), (2, 3))
    rows = [
        TensorDescription(f"onnx::{name}", name if shape == (2, 3) else "float32", shape)
        for name, shape in shapes.items()
    ]
    values = {row.name: np.ones(row.shape, np.uint8).astype(dtypes.by_name(row.dtype).numpy) for row in rows}
    write_onnx(tmp_path / "x", TensorsToWrite(rows, lambda name: [values[name]]))

    checkpoint = read_checkpoint(tmp_path / "x")

    assert names(checkpoint) == [row.name for row in rows]
    assert (checkpoint.format, checkpoint.weights_key, checkpoint.warnings) == ("onnx", None, ())
    for row, read in zip(rows, checkpoint.weights, strict=True):
        assert (read.dtype, read.shape) == (row.dtype, row.shape)
        assert read.data.tobytes() == values[row.name].tobytes()
        assert read.data.flags.aligned


@pytest.mark.parametrize(
    ("kind", "fields", "dtype", "bits"),
    [
        (1, block(4, struct.pack("<2f", 1, -2)), "float32", struct.pack("<2f", 1, -2)),
        (1, b"\x25" + struct.pack("<f", 1) + b"\x25" + struct.pack("<f", -2), "float32", struct.pack("<2f", 1, -2)),
        (1, block(4, FOUR_FLOATS[:4]) + block(4, FOUR_FLOATS[4:8]), "float32", FOUR_FLOATS[:8]),
        (14, block(4, FOUR_FLOATS), "complex64", FOUR_FLOATS),
        (11, block(10, struct.pack("<2d", 1, -2)), "float64", struct.pack("<2d", 1, -2)),
        (2, block(5, packed(0, 255)), "uint8", b"\0\xff"),
        (3, block(5, packed(-128, 127)), "int8", b"\x80\x7f"),
        (4, block(5, packed(0, 65535)), "uint16", b"\0\0\xff\xff"),
        (5, block(5, packed(-2, 32767)), "int16", b"\xfe\xff\xff\x7f"),
        (6, block(5, packed(-1, 2**31 - 1)), "int32", struct.pack("<2i", -1, 2**31 - 1)),
        (6, block(5, packed(2**32 - 1, 7)), "int32", struct.pack("<2i", -1, 7)),  # negative in 32 bits
        (6, number(5, 300) + number(5, 2**64 - 5), "int32", struct.pack("<2i", 300, -5)),
        (7, block(7, packed(-(2**63), 2**63 - 1)), "int64", struct.pack("<2q", -(2**63), 2**63 - 1)),
        (7, number(7, 1) + block(7, packed(-1)), "int64", struct.pack("<2q", 1, -1)),
        (9, block(5, packed(1, 0)), "bool", b"\1\0"),
        (10, block(5, packed(0x3C00, 0xC000)), "float16", struct.pack("<2e", 1, -2)),
        (16, block(5, packed(0x3F80, 0xC000)), "bfloat16", b"\x80\x3f\0\xc0"),
        (17, block(5, packed(0x38, 0xC0)), "float8_e4m3fn", b"\x38\xc0"),
        (19, block(5, packed(0x3C, 0xC0)), "float8_e5m2", b"\x3c\xc0"),
        (12, block(11, packed(0, 2**32 - 1)), "uint32", struct.pack("<2I", 0, 2**32 - 1)),
        (13, block(11, packed(5, 2**64 - 1)), "uint64", struct.pack("<2Q", 5, 2**64 - 1)),
    ],
)
def test_values_in_fields_of_their_types(tmp_path: Path, kind: int, fields: bytes, dtype: str, bits: bytes) -> None:
    """Two numbers of each, packed or one by one."""
    read = read_one(tmp_path, tensor("w", kind, (2,), fields))

    assert (read.name, read.dtype, read.shape, read.data.tobytes()) == ("w", dtype, (2,), bits)


@fuzzed(100)
@given(blocks=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=5))
def test_numbers_in_several_packed_fields_are_joined(tmp_path: Path, blocks: list[list[int]]) -> None:
    """Short ones, long ones, and single numbers in any order."""
    written_as = [number(7, one[0] % 2**64) if len(one) == 1 else block(7, packed(*one)) for one in blocks]
    flat = [value for one in blocks for value in one]

    read = read_one(tmp_path, tensor("w", 7, (len(flat),), *written_as))

    assert read.data.tolist() == flat


def test_packed_shapes_are_read_and_prefixes_are_cut(tmp_path: Path) -> None:
    """Other writers pack shapes; wrappers add prefixes."""
    one = block(1, packed(2, 2)) + number(2, FLOAT) + block(8, b"module.a") + block(9, FOUR_FLOATS)
    checkpoint = read_checkpoint(written(tmp_path, net(one, tensor("module.b", FLOAT, (0, 3), block(9, b"")))))

    assert [(each.name, each.shape) for each in checkpoint.weights] == [("a", (2, 2)), ("b", (0, 3))]
    assert checkpoint.weights.compressible == ("a",)


def test_quantized_weights_are_integers(tmp_path: Path) -> None:
    """They are kept, and not compressible."""
    checkpoint = read_checkpoint(written(tmp_path, net(tensor("w_quantized", 3, (2, 2), block(9, b"\1\2\3\xff")))))

    assert checkpoint.weights["w_quantized"].data.tolist() == [[1, 2], [3, -1]]
    assert checkpoint.weights.compressible == ()


def constant(*values: bytes) -> bytes:
    """A field of a graph: the node that gives a tensor."""
    return block(1, block(4, b"Constant") + block(5, block(1, b"value") + block(5, tensor("", FLOAT, (2, 2), *values))))


def test_constants_and_subgraphs_are_left_out_with_a_notice(tmp_path: Path) -> None:
    """The body of an ``If`` may use a name again; tensors that are not compressible are not counted."""
    inner = block(5, tensor("w", FLOAT, (2, 3), block(9, bytes(24)))) + constant(block(9, FOUR_FLOATS))
    small = block(1, block(5, block(5, tensor("", 7, (2,), block(7, packed(1, 2))))))
    branch = block(1, block(4, b"If") + block(5, block(1, b"then_branch") + block(6, inner)))
    model = net(tensor("w", FLOAT, (4,), block(9, FOUR_FLOATS)), rest=branch + small)

    checkpoint = read_checkpoint(written(tmp_path, model))

    assert names(checkpoint) == ["w"]
    (notice,) = checkpoint.warnings
    assert (notice.code, notice.tensor) == ("ignored_entries", None)
    assert "(2, of 10 elements)" in notice.detail


def test_a_graph_without_initializers_is_refused(tmp_path: Path) -> None:
    """The message counts constants that may be its weights."""
    error = refusal(written(tmp_path, net(rest=constant(block(9, FOUR_FLOATS)))))

    assert error.code == "not_a_state_dict"
    assert "(1, of 4 elements)" in error.detail
    assert refusal(written(tmp_path, net())).code == "not_a_state_dict"


def test_values_in_another_file_are_refused_with_the_remedy(tmp_path: Path) -> None:
    """The message names the tensor and the file."""
    entries = [
        block(13, block(1, key) + block(2, value)) for key, value in ((b"offset", b"0"), (b"location", b"w.bin"))
    ]

    for outside in (b"".join(entries) + number(14, 1), entries[1], number(14, 1)):
        error = refusal(written(tmp_path, net(tensor("fc.weight", FLOAT, (4,), outside))))
        assert error.code == "missing_shard"
        assert "'fc.weight'" in error.detail
        assert "save_as_external_data=False" in error.detail
        assert ("'w.bin'" in error.detail) == (b"w.bin" in outside)


W = tensor("w", FLOAT, (4,), block(9, FOUR_FLOATS))


@pytest.mark.parametrize(
    ("initializer", "code"),
    [
        (tensor("v", FLOAT, (5,), block(9, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (3,), block(9, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (5,), block(4, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (3,), block(4, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (3,), block(4, FOUR_FLOATS[:13])), "corrupt"),
        (tensor("v", FLOAT, (1,), number(4, 1)), "corrupt"),
        (tensor("v", FLOAT, (4,)), "corrupt"),
        (tensor("v", FLOAT, (0,), block(9, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (4,), block(9, FOUR_FLOATS), block(4, FOUR_FLOATS)), "corrupt"),
        (tensor("v", DOUBLE, (4,), block(4, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (2**64 - 2,), block(9, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (2**62, 2**62, 4), block(9, FOUR_FLOATS)), "corrupt"),
        (tensor("v", FLOAT, (2**62, 2**62), block(4, FOUR_FLOATS)), "too_many_elements"),
        (tensor("v", FLOAT, (2**62, 2**62, 0)), "corrupt"),
        (tensor("v", FLOAT, (1,) * 33, block(9, FOUR_FLOATS[:4])), "unsupported_layout"),
        (tensor("v", FLOAT, (), block(1, b"\1" * 33), block(9, FOUR_FLOATS[:4])), "unsupported_layout"),
        (tensor("v", INT32, (2,), block(5, b"\1\x80")), "corrupt"),
        (tensor("v", INT32, (1,), block(5, b"\xff" * 12)), "corrupt"),
        (tensor("v", 3, (1,), block(5, packed(128))), "corrupt"),
        (tensor("v", 2, (1,), block(5, packed(-1))), "corrupt"),
        (tensor("v", 10, (1,), block(5, packed(2**16))), "corrupt"),
        (tensor("v", 12, (1,), block(11, packed(2**32))), "corrupt"),
        (tensor("v", BOOL, (1,), block(5, packed(2))), "corrupt"),
        (tensor("v", BOOL, (1,), block(9, b"\2")), "corrupt"),
        (tensor("v", FLOAT, (1, 1), block(9, struct.pack("<f", float("nan")))), "not_finite"),
        (tensor("v", 8, (1,), block(6, b"text")), "unsupported_dtype"),
        (tensor("v", 22, (2,), block(9, b"\x12")), "unsupported_dtype"),
        (tensor("v", 99, (2,), block(9, b"\x12")), "unsupported_dtype"),
        (tensor("v", 0, (2,), block(9, b"\x12")), "unsupported_dtype"),
        (tensor("v", FLOAT, (4,), block(3, number(1, 0)), block(9, FOUR_FLOATS)), "unsupported_layout"),
        (tensor("w", FLOAT, (1,), block(9, FOUR_FLOATS[:4])), "duplicate_name"),
    ],
)
def test_a_tensor_that_cannot_be_read_is_named(tmp_path: Path, initializer: bytes, code: str) -> None:
    """Each fault has its code, whatever sizes the file states."""
    error = refusal(written(tmp_path, net(W, initializer)))

    assert error.code == code
    assert ("'w'" if code == "duplicate_name" else "'v'") in error.detail or code == "too_many_elements"


@pytest.mark.parametrize(
    ("initializer", "said"),
    [
        (tensor("", FLOAT, (4,), block(9, FOUR_FLOATS)), "no name"),
        (number(2, FLOAT) + block(8, b"\xff"), "initializer 2"),
        (number(2, FLOAT) + number(8, 3), "initializer 2"),
        (b"\x0a\xff", "initializer 2"),
        (tensor("v", FLOAT, (1,) * 2000), "initializer 2"),
        (tensor("v", FLOAT, (), block(1, b"\1" * 2000)), "initializer 2"),
    ],
)
def test_a_tensor_without_a_name_is_named_by_its_number(tmp_path: Path, initializer: bytes, said: str) -> None:
    """The message says which initializer it is."""
    error = refusal(written(tmp_path, net(W, initializer)))

    assert (error.code, said in error.detail) == ("corrupt", True)


def test_a_negative_dimension_is_refused(tmp_path: Path) -> None:
    """It is not read as a large one, also where there are no elements."""
    error = refusal(written(tmp_path, net(tensor("v", FLOAT, (0, 2**64 - 1)))))

    assert error.detail.startswith("tensor 'v': one of its dimensions is negative")


def test_a_sparse_initializer_is_refused(tmp_path: Path) -> None:
    """Without it the network would be incomplete."""
    error = refusal(written(tmp_path, net(rest=block(15, block(1, W)))))

    assert error.code == "unsupported_layout"
    assert "'w'" in error.detail


def nested(depth: int) -> bytes:
    """A graph in a node of a graph in a node, and so on."""
    graph = b""
    for _ in range(depth):
        graph = block(1, block(5, block(6, graph)))
    return graph


@pytest.mark.parametrize(
    "model",
    [
        number(1, 8) + number(7, 1),
        net(W) + block(7, b""),
        net(W, rest=b"\x0b"),
        net(W, rest=b"\x0a\x05\x2a\x09"),
        net(W, rest=nested(1000)),
        net(W) + b"\x0b",
    ],
    ids=["number", "two graphs", "group", "node", "nested", "end"],
)
def test_damage_outside_the_tensors_is_found(tmp_path: Path, model: bytes) -> None:
    """In the model, its graph, and its nodes."""
    assert refusal(written(tmp_path, model)).code == "corrupt"


def test_nested_graphs_are_read(tmp_path: Path) -> None:
    """To a depth that no exporter writes."""
    assert names(read_checkpoint(written(tmp_path, net(W, rest=nested(20))))) == ["w"]


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    """A file that is cut off within the graph is truncated; one that is cut off before it cannot be recognized."""
    model = net(W)
    start = model.index(b"\x3a")

    codes = {cut: refusal(written(tmp_path, model[:cut])).code for cut in range(1, len(model) - 4)}

    assert {codes[cut] for cut in range(start + 1, len(model) - 4)} == {"truncated"}
    assert set(codes.values()) <= {"truncated", "corrupt"}


def test_too_many_initializers_are_refused(tmp_path: Path) -> None:
    """Their names and shapes take memory."""
    many = [tensor(str(index), FLOAT, ()) + block(9, FOUR_FLOATS[:4]) for index in range(40)]

    error = refusal(written(tmp_path, net(*many)), limits=Limits(header_bytes=1000))

    assert error.code == "too_many_elements"
    assert len(names(read_checkpoint(written(tmp_path, net(*many)), limits=Limits(header_bytes=3000)))) == 40


SAVED_MODEL = number(1, 1) + block(2, b"meta graph")  # of TensorFlow
CORE_ML = number(1, 4) + block(2, b"description") + block(500, b"layers")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (net(W), True),
        (number(1, 8) + block(2, b"pytorch") + block(3, b"2.4") + number(5, 0) + net(W)[2:], True),
        (number(1, 8) + block(8, b"") + net(W)[2:], True),
        (net(W)[:-20], True),
        (SAVED_MODEL, False),
        (CORE_ML, False),
        (CORE_ML + block(7, b""), False),
        (W, False),  # a tensor alone, as test data of ONNX are
        (block(1, b"node") + net(W), False),
        (number(1, 300) + net(W)[2:], False),
        (number(1, 8) * 2000 + net(W), False),
        (b"\x08", False),
        (b"\x08\x08", False),
        (b"\x08\x08text", False),
        (b"\x08\x80", False),
        (b"hello", False),
    ],
)
def test_models_are_recognized(tmp_path: Path, content: bytes, found: bool) -> None:
    """By their first fields, since the format has no magic bytes."""
    assert is_onnx(MappedFile.open(written(tmp_path, content))) == found


@pytest.mark.parametrize("content", [SAVED_MODEL, CORE_ML, W, b"\x08\x08text"])
def test_other_files_called_onnx_are_refused_with_the_known_formats(tmp_path: Path, content: bytes) -> None:
    """The name of a file does not matter."""
    (tmp_path / "net.onnx").write_bytes(content)

    error = refusal(tmp_path / "net.onnx")

    assert error.code in {"corrupt", "not_a_state_dict"}
    assert "onnx" in error.detail


@fuzzed(300)
@given(graph=st.binary(max_size=60), kind=st.integers(0, 30), values=st.binary(max_size=30), field=st.integers(1, 14))
def test_hostile_bytes_raise_no_other_error(tmp_path: Path, graph: bytes, kind: int, values: bytes, field: int) -> None:
    """Any bytes as a graph, and as any field of a tensor."""
    hostile = tensor("v", kind, (2,), block(field, values))
    for model in (net(W, rest=graph), net(W, graph), net(W, hostile)):
        with contextlib.suppress(CheckpointError):
            read_checkpoint(written(tmp_path, model), limits=Limits(free_bytes=2**20))
