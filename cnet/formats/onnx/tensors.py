"""Tensors of ONNX files (TensorProto): their description, and their values in every representation.

Values are bytes (``raw_data``, little-endian), or numbers in the one of five fields that belongs to the element type,
packed or not. Types of 16 bits and fewer are in ``int32_data``; float16, bfloat16 and float8 there as their bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import release_pages
from cnet.errors import CheckpointError
from cnet.formats.onnx import schema
from cnet.formats.onnx.protobuf import MessageField, encode_varint, read_fields, read_packed_varints
from cnet.formats.onnx.schema import (
    TENSOR_DIMS,
    TENSOR_DOUBLES,
    TENSOR_EXTERNAL,
    TENSOR_FLOATS,
    TENSOR_INT32S,
    TENSOR_INT64S,
    TENSOR_LOCATION,
    TENSOR_NAME,
    TENSOR_RAW,
    TENSOR_SEGMENT,
    TENSOR_STRINGS,
    TENSOR_TYPE,
    TENSOR_UINT64S,
)
from cnet.formats.parsing.contents import (
    MAX_DIMENSIONS,
    StoredArray,
    contiguous,
    damaged,
    too_many_dimensions,
    unsupported_dtype,
)
from cnet.formats.parsing.quoting import quoted
from cnet.weights import Selection

_TYPE_NAMES = {number: name for name, number in schema.TYPE_NUMBERS.items()}
_FIELDS = {
    "float32": TENSOR_FLOATS, "complex64": TENSOR_FLOATS, "float64": TENSOR_DOUBLES,
    "int64": TENSOR_INT64S, "uint32": TENSOR_UINT64S, "uint64": TENSOR_UINT64S,
}  # fmt: skip
_FIXED_WIDTH: dict[int, np.dtype[Any]] = {TENSOR_FLOATS: np.dtype("<f4"), TENSOR_DOUBLES: np.dtype("<f8")}
_VALUE_FIELDS = {TENSOR_FLOATS, TENSOR_INT32S, TENSOR_STRINGS, TENSOR_INT64S, TENSOR_DOUBLES, TENSOR_UINT64S}
_DESCRIPTION_FIELDS = {TENSOR_TYPE, TENSOR_SEGMENT, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL, TENSOR_LOCATION}
_LONGEST_SINGLE = 16  # bytes of a field that holds one number; a longer field is packed
_JOINED = 2**16  # bytes of single numbers that are joined
_LONGEST_SHAPE = 1000  # bytes of the dimensions; 64 of them, the most of a bundle's tensors, take 643 in one field


@dataclass(frozen=True, eq=False)
class OnnxTensor:
    """The description of a tensor that is still in the file, not checked.

    Attributes:
        name: its name, empty where it has none; only an initializer must have one.
        type: number of the element type.
        shape: its dimensions; a negative one is read as a number above 2^63.
        message: all its bytes.
        raw: its values where they are bytes; empty where they are numbers.
        typed: numbers of the fields that hold its values as numbers.
        external: name of the other file that holds the values; None where this file does.
        segmented: whether it is only a segment of a tensor.
    """

    name: str
    type: int
    shape: tuple[int, ...]
    message: memoryview
    raw: memoryview
    typed: frozenset[int]
    external: str | None
    segmented: bool

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def compressible(self) -> bool:
        """Whether the default rule for compressible tensors selects it."""
        name = _TYPE_NAMES.get(self.type)
        return name is not None and Selection().selects(self.name, name, self.shape)

    def stored_array(self) -> StoredArray:
        """The tensor as an initializer. Raises CheckpointError where it cannot be one."""
        if not self.name:
            raise damaged("an initializer of this ONNX model", "it has no name")
        if self.external is not None:
            raise CheckpointError(
                f"tensor {quoted(self.name)}: its values are in another file, {quoted(self.external)}. "
                "Write the model in one file: onnx.save_model(onnx.load(path), one, save_as_external_data=False).",
                code="missing_shard",
            )
        self._check_shape()
        dtype = self._dtype()
        if self.segmented:
            raise CheckpointError(
                f"tensor {quoted(self.name)}: it is stored in segments. Save it whole.", code="unsupported_layout"
            )
        self._check_layout(_value_field(dtype), self.elements * dtype.numpy.itemsize)
        return StoredArray(dtype.name, self.shape, self._read)

    def _check_shape(self) -> None:
        if len(self.shape) > MAX_DIMENSIONS:
            raise too_many_dimensions(self.name, len(self.shape))
        if any(extent >= 2**63 for extent in self.shape):
            raise damaged(f"tensor {quoted(self.name)}", "one of its dimensions is negative")

    def _check_layout(self, field: int, nbytes: int) -> None:
        used = self.typed | ({TENSOR_RAW} if self.raw else set())
        if len(used) > 1 or not used <= {TENSOR_RAW, field}:
            raise damaged(f"tensor {quoted(self.name)}", "its values are in a field of another element type")
        if bool(used) != bool(nbytes) or (self.raw and len(self.raw) != nbytes):
            raise self._unfilled()

    def _dtype(self) -> dtypes.DType:
        name = _TYPE_NAMES.get(self.type)
        if name is None:
            other = schema.UNSUPPORTED_TYPES.get(self.type, f"number {self.type}")
            raise unsupported_dtype(self.name, other)
        return dtypes.by_name(name)

    def _read(self) -> npt.NDArray[np.generic]:
        dtype = self._dtype()
        if self.raw:
            values: npt.NDArray[np.generic] = np.frombuffer(self.raw, np.uint8).view(dtype.numpy)
        else:
            values = self._numbers(dtype)
        data = contiguous(values.reshape(self.shape), dtype.numpy)
        if not np.may_share_memory(data, values):
            release_pages(values)
        return data

    def _unfilled(self) -> CheckpointError:
        return damaged(f"tensor {quoted(self.name)}", f"its values do not fill the stated shape {self.shape}")

    def _numbers(self, dtype: dtypes.DType) -> npt.NDArray[np.generic]:
        """The values of a typed field, flat."""
        field = _value_field(dtype)
        values = np.empty(prod(self.shape), dtype.numpy)
        cells, at = values.view(_cell_type(field, dtype)), 0
        try:
            for part in _parts(self.message, field):
                if part.size > cells.size - at:
                    raise self._unfilled()
                cells[at : at + part.size] = _fitting(part, cells.dtype)
                at += part.size
        except ValueError as error:
            raise damaged(
                f"tensor {quoted(self.name)}", "its values are outside the range of its element type"
            ) from error
        if at < cells.size:
            raise self._unfilled()
        return values


def parse_tensor(message: memoryview) -> OnnxTensor:
    """The description of a tensor; its values are not read.

    Raises:
        ValueError: the bytes are not a tensor, or a damaged one.
    """
    found: dict[int, MessageField] = {}
    shape: list[int] = []
    typed: set[int] = set()
    for field in read_fields(message):
        if field.number in _DESCRIPTION_FIELDS:
            found[field.number] = field
        elif field.number == TENSOR_DIMS:
            if len(field.raw) > _LONGEST_SHAPE or len(shape) > _LONGEST_SHAPE:
                raise ValueError(f"the dimensions of a tensor take more than {_LONGEST_SHAPE} bytes")
            shape += field.integers
        elif field.number in _VALUE_FIELDS and (field.value is None or len(field.value)):
            typed.add(field.number)
    name = _text(found.get(TENSOR_NAME))
    kind = found[TENSOR_TYPE].integer if TENSOR_TYPE in found else None
    raw = found[TENSOR_RAW].content if TENSOR_RAW in found else memoryview(b"")
    outside = TENSOR_EXTERNAL in found or (TENSOR_LOCATION in found and found[TENSOR_LOCATION].integer != 0)
    external = _external(message) if outside else None
    return OnnxTensor(name, kind or 0, tuple(shape), message, raw, frozenset(typed), external, TENSOR_SEGMENT in found)


def _text(field: MessageField | None) -> str:
    return bytes(field.content).decode() if field is not None else ""


def _external(message: memoryview) -> str:
    """Name of the file that the entry ``location`` states; empty where there is no such entry."""
    for field in read_fields(message):
        if field.number == TENSOR_EXTERNAL:
            entry = {part.number: part for part in read_fields(field.content) if part.number <= schema.ENTRY_VALUE}
            if _text(entry.get(schema.ENTRY_KEY)) == "location":
                return _text(entry.get(schema.ENTRY_VALUE))
    return ""


def _value_field(dtype: dtypes.DType) -> int:
    return _FIELDS.get(dtype.name, TENSOR_INT32S)


def _cell_type(field: int, dtype: dtypes.DType) -> np.dtype[Any]:
    """The type of one number of a field, which is a value, its bits, or its real or imaginary part."""
    if field in _FIXED_WIDTH:
        return _FIXED_WIDTH[field]
    return np.dtype(f"<{'i' if dtype.numpy.kind == 'i' else 'u'}{dtype.numpy.itemsize}")


def _parts(message: memoryview, field: int) -> Iterator[npt.NDArray[Any]]:
    """The numbers of a field in arrays of shape (n,), in the type that the field states. Raises ValueError."""
    for content in _contents(message, field):
        if field in _FIXED_WIDTH:
            yield np.frombuffer(content, _FIXED_WIDTH[field])
            continue
        for part in read_packed_varints(content):
            if field == TENSOR_INT32S:  # a negative number has 64 bits, or 32
                yield part.astype(np.uint32).view(np.int32)
            else:
                yield part.view(np.int64) if field == TENSOR_INT64S else part


def _contents(message: memoryview, number: int) -> Iterator[memoryview]:
    """The bytes of a repeated field of numbers as if it were packed: single numbers are joined."""
    alone = bytearray()
    for field in read_fields(message):
        if field.number != number:
            continue
        if field.integer is not None and number in _FIXED_WIDTH:
            raise ValueError("a varint stands among numbers of fixed width")
        content = field.value if field.value is not None else memoryview(encode_varint(field.integer or 0))
        if len(content) <= _LONGEST_SINGLE:
            alone += content
        if alone and (len(content) > _LONGEST_SINGLE or len(alone) > _JOINED):
            yield memoryview(bytes(alone))
            alone.clear()
        if len(content) > _LONGEST_SINGLE:
            yield content
    if alone:
        yield memoryview(bytes(alone))


def _fitting(part: npt.NDArray[Any], cell: np.dtype[Any]) -> npt.NDArray[Any]:
    """``part``, any shape. Raises ValueError where a number is outside the range of the type ``cell``."""
    if cell.kind in "iu" and part.size:
        least, most = np.iinfo(cell).min, np.iinfo(cell).max
        if int(part.min()) < least or int(part.max()) > most:
            raise ValueError(f"a number is not from {least} to {most}")
    return part
