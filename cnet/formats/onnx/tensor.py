"""Tensors of ONNX files (TensorProto): what one says of itself, and its values in all the ways there are to hold them.

Values are bytes (``raw_data``, little-endian), or numbers in the one field of five that fits the element type, packed
or one by one. Those of 16 bits and less stand in ``int32_data``: float16, bfloat16 and float8 as their bits.
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
from cnet.formats.base import FlatLeaf, owned, shown
from cnet.formats.onnx import schema
from cnet.formats.onnx.protobuf import Field, fields, packed, varint
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
from cnet.formats.safetensors import MAX_DIMENSIONS
from cnet.weights import Selection, Tensor

_NAMES = {number: name for name, number in schema.TYPES.items()}
_FIELDS = {
    "float32": TENSOR_FLOATS, "complex64": TENSOR_FLOATS, "float64": TENSOR_DOUBLES,
    "int64": TENSOR_INT64S, "uint32": TENSOR_UINT64S, "uint64": TENSOR_UINT64S,
}  # fmt: skip
_FIXED: dict[int, np.dtype[Any]] = {TENSOR_FLOATS: np.dtype("<f4"), TENSOR_DOUBLES: np.dtype("<f8")}
_TYPED = {TENSOR_FLOATS, TENSOR_INT32S, TENSOR_STRINGS, TENSOR_INT64S, TENSOR_DOUBLES, TENSOR_UINT64S}
_ABOUT = {TENSOR_TYPE, TENSOR_SEGMENT, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL, TENSOR_LOCATION}
_ALONE = 16  # bytes: longer ones are a packed block, not a number of its own
_TOGETHER = 2**16
_LONGEST_SHAPE = 1000  # bytes; 64 dimensions, the most of a bundle's tensors, take 643 where they stand in one field


@dataclass(frozen=True, eq=False)
class OnnxTensor:
    """A tensor that is still in the file, unchecked.

    Attributes:
        name: as in the file; only an initializer has to have one.
        type: number of the element type.
        shape: as the file has it; what is below zero there is above 2^63 here.
        message: all its bytes.
        raw: its values where they are bytes; empty where they are numbers.
        typed: the fields that hold numbers.
        external: name of the file that holds the values; None where this one does.
        segmented: whether it is a part of a tensor.
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
        """Whether it would be compressed, were it an initializer."""
        name = _NAMES.get(self.type)
        return name is not None and Selection().selects(self.name, name, self.shape)

    def leaf(self) -> FlatLeaf:
        """It as an initializer. Raises CheckpointError where it cannot be read as one."""
        if not self.name:
            raise _corrupt("an initializer has no name")
        if self.external is not None:
            raise CheckpointError(
                f"the values of tensor {shown(self.name)} lie in another file, {shown(self.external)}: "
                "write the model in one file with onnx.save_model(onnx.load(path), one, save_as_external_data=False)",
                code="missing_shard",
            )
        self._check_shape()
        dtype, elements = self._dtype(), prod(self.shape)
        if self.segmented:
            raise CheckpointError(
                f"tensor {shown(self.name)} is stored in segments: save it whole", code="unsupported_layout"
            )
        self._check_layout(_field(dtype), elements * dtype.numpy.itemsize)
        return FlatLeaf(elements, elements * dtype.numpy.itemsize, self._load)

    def _check_shape(self) -> None:
        if len(self.shape) > MAX_DIMENSIONS:
            raise CheckpointError(
                f"tensor {shown(self.name)} has {len(self.shape)} dimensions; at most {MAX_DIMENSIONS} are taken",
                code="unsupported_layout",
            )
        if any(extent >= 2**63 for extent in self.shape):
            raise _corrupt(f"tensor {shown(self.name)} has a negative dimension")

    def _check_layout(self, field: int, nbytes: int) -> None:
        held = self.typed | ({TENSOR_RAW} if self.raw else set())
        if len(held) > 1 or not held <= {TENSOR_RAW, field}:
            raise _corrupt(f"tensor {shown(self.name)} holds values in a way that does not go with its element type")
        if bool(held) != bool(nbytes) or (self.raw and len(self.raw) != nbytes):
            raise _unfilled(self.name)

    def _dtype(self) -> dtypes.DType:
        name = _NAMES.get(self.type)
        if name is None:
            other = schema.OTHER_TYPES.get(self.type, f"number {self.type}")
            raise CheckpointError(
                f"tensor {shown(self.name)} has element type {other}, which is not supported: convert it before saving",
                code="unsupported_dtype",
            )
        return dtypes.by_name(name)

    def _load(self, name: str) -> Tensor:
        dtype = self._dtype()
        if self.raw:
            values: npt.NDArray[np.generic] = np.frombuffer(self.raw, np.uint8).view(dtype.numpy)
        else:
            values = self._numbers(dtype)
        data = owned(values.reshape(self.shape), dtype.numpy)
        if not np.may_share_memory(data, values):
            release_pages(values)
        return Tensor(name, dtype.name, data)

    def _numbers(self, dtype: dtypes.DType) -> npt.NDArray[np.generic]:
        """The values of a typed field, flat."""
        field = _field(dtype)
        values = np.empty(prod(self.shape), dtype.numpy)
        cells, at = values.view(_cell(field, dtype)), 0
        try:
            for part in _parts(self.message, field):
                if part.size > cells.size - at:
                    raise _unfilled(self.name)
                cells[at : at + part.size] = _fitting(part, cells.dtype)
                at += part.size
        except ValueError as error:
            raise _corrupt(f"the values of tensor {shown(self.name)} are not those of its element type") from error
        if at < cells.size:
            raise _unfilled(self.name)
        return values


def parse_tensor(message: memoryview) -> OnnxTensor:
    """What a tensor says of itself; its values are not read.

    Raises:
        ValueError: this is no tensor, or a damaged one.
    """
    held: dict[int, Field] = {}
    shape: list[int] = []
    typed: set[int] = set()
    for field in fields(message):
        if field.number in _ABOUT:
            held[field.number] = field
        elif field.number == TENSOR_DIMS:
            if len(field.raw) > _LONGEST_SHAPE or len(shape) > _LONGEST_SHAPE:
                raise ValueError("a tensor of more dimensions than there are")
            shape += field.integers
        elif field.number in _TYPED and (field.value is None or len(field.value)):
            typed.add(field.number)
    name = _text(held.get(TENSOR_NAME))
    kind = held[TENSOR_TYPE].integer if TENSOR_TYPE in held else None
    raw = held[TENSOR_RAW].content if TENSOR_RAW in held else memoryview(b"")
    outside = TENSOR_EXTERNAL in held or (TENSOR_LOCATION in held and held[TENSOR_LOCATION].integer != 0)
    external = _external(message) if outside else None
    return OnnxTensor(name, kind or 0, tuple(shape), message, raw, frozenset(typed), external, TENSOR_SEGMENT in held)


def _text(field: Field | None) -> str:
    return bytes(field.content).decode() if field is not None else ""


def _external(message: memoryview) -> str:
    """The file that is named by the entry ``location``; empty where none is."""
    for field in fields(message):
        if field.number == TENSOR_EXTERNAL:
            entry = {part.number: part for part in fields(field.content) if part.number <= schema.ENTRY_VALUE}
            if _text(entry.get(schema.ENTRY_KEY)) == "location":
                return _text(entry.get(schema.ENTRY_VALUE))
    return ""


def _field(dtype: dtypes.DType) -> int:
    return _FIELDS.get(dtype.name, TENSOR_INT32S)


def _cell(field: int, dtype: dtypes.DType) -> np.dtype[Any]:
    """What one number of a field is of a value: the value, its bits, or its real or imaginary part."""
    if field in _FIXED:
        return _FIXED[field]
    return np.dtype(f"<{'i' if dtype.numpy.kind == 'i' else 'u'}{dtype.numpy.itemsize}")


def _parts(message: memoryview, field: int) -> Iterator[npt.NDArray[Any]]:
    """The numbers of a field, as they stand there. Raises ValueError."""
    for content in _contents(message, field):
        if field in _FIXED:
            yield np.frombuffer(content, _FIXED[field])
            continue
        for part in packed(content):
            if field == TENSOR_INT32S:  # negative ones are written with 64 bits, or with 32
                yield part.astype(np.uint32).view(np.int32)
            else:
                yield part.view(np.int64) if field == TENSOR_INT64S else part


def _contents(message: memoryview, number: int) -> Iterator[memoryview]:
    """The bytes of a repeated field of numbers as if it were packed: blocks as they are, single ones joined."""
    alone = bytearray()
    for field in fields(message):
        if field.number != number:
            continue
        if field.integer is not None and number in _FIXED:
            raise ValueError("a varint among numbers of fixed width")
        content = field.value if field.value is not None else memoryview(varint(field.integer or 0))
        if len(content) <= _ALONE:
            alone += content
        if alone and (len(content) > _ALONE or len(alone) > _TOGETHER):
            yield memoryview(bytes(alone))
            alone.clear()
        if len(content) > _ALONE:
            yield content
    if alone:
        yield memoryview(bytes(alone))


def _fitting(part: npt.NDArray[Any], cell: np.dtype[Any]) -> npt.NDArray[Any]:
    """The same numbers. Raises ValueError where one is none of ``cell``."""
    if cell.kind in "iu" and part.size:
        least, most = np.iinfo(cell).min, np.iinfo(cell).max
        if int(part.min()) < least or int(part.max()) > most:
            raise ValueError(f"a number outside of {least} to {most}")
    return part


def _unfilled(name: str) -> CheckpointError:
    return _corrupt(f"tensor {shown(name)} states a shape that its values do not fill")


def _corrupt(detail: str) -> CheckpointError:
    return CheckpointError(f"{detail}: the file is damaged", code="corrupt")
