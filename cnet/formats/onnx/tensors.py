"""Tensors of ONNX files (TensorProto): their description, and their values in every representation.

Values are bytes (``raw_data``, little-endian), or numbers in the one of five fields that belongs to the element type,
packed or not. Types of 16 bits and fewer are in ``int32_data``; float16, bfloat16 and float8 there as their bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import release_pages
from cnet.errors import CheckpointError
from cnet.formats.onnx import schema
from cnet.formats.onnx.external import OpenExternal, external_bytes, external_entries
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
    "complex128": TENSOR_DOUBLES,
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
        external: what is stated of the other file that holds the values; None where this file does.
        segmented: whether it is only a segment of a tensor.
    """

    name: str
    type: int
    shape: tuple[int, ...]
    message: memoryview
    raw: memoryview
    typed: frozenset[int]
    external: Mapping[str, str] | None
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

    def stored_array(self, open_external: OpenExternal | None = None) -> StoredArray:
        """The tensor as an initializer.

        Args:
            open_external: opens the other files of the archive that the model is in; None: there are none.

        Raises:
            CheckpointError: it cannot be an initializer; ``missing_shard`` where its values are not at hand.
        """
        if not self.name:
            raise damaged("an initializer of this ONNX model", "it has no name")
        location = None if self.external is None else self.external.get("location", "")
        file = open_external(location) if open_external is not None and location else None
        if location is not None and file is None:
            raise CheckpointError(
                f"tensor {quoted(self.name)}: its values are in another file, {quoted(location)}. Pack the model and "
                "that file into one zip or tar, or write one file: onnx.save_model(onnx.load(path), one, "
                "save_as_external_data=False).",
                code="missing_shard",
            )
        self._check_shape()
        dtype = self._dtype()
        if file is not None and self.external is not None:
            raw = external_bytes(self.name, self.external, file, self.elements * dtype.numpy.itemsize)
            return StoredArray(dtype.name, self.shape, lambda: self._shaped(raw, dtype))
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
            return self._shaped(np.frombuffer(self.raw, np.uint8), dtype)
        return self._shaped(self._numbers(dtype), dtype)

    def _shaped(self, flat: npt.NDArray[np.generic], dtype: dtypes.DType) -> npt.NDArray[np.generic]:
        """The tensor of its values, or of their bytes, both flat."""
        values: npt.NDArray[np.generic] = flat.view(dtype.numpy)
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
    external = external_entries(message) if outside else None
    return OnnxTensor(name, kind or 0, tuple(shape), message, raw, frozenset(typed), external, TENSOR_SEGMENT in found)


def _text(field: MessageField | None) -> str:
    return bytes(field.content).decode() if field is not None else ""


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
