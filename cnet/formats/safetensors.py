"""Reader of safetensors files, strict: every byte is accounted for, bfloat16 and float8 are kept as bits.

The format is that of the safetensors specification: 8 bytes of little-endian header length, a JSON header, the data.
The ``safetensors`` package cannot give bfloat16 and float8 to NumPy and takes the last of two equal keys, so the
header is parsed here.
"""

from __future__ import annotations

import json
from math import prod
from typing import Any, NoReturn

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.formats.base import Document, FlatLeaf, Limits, Source, listed, owned, shown
from cnet.weights import Tensor

METADATA_KEY = "cnet"  # our entry in ``__metadata__``: JSON with the tied groups, as the canonical form has it
MAX_DIMENSIONS = 32


def read_safetensors(source: Source, limits: Limits) -> Document:
    """The tensors of a safetensors file, in the order of its header.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``duplicate_name`` or ``unsupported_dtype``.
    """
    length = int.from_bytes(source.array(0, 8), "little")
    if length > limits.header_bytes:
        raise CheckpointError(
            f"the safetensors header has {length} bytes; at most {limits.header_bytes} are taken",
            code="too_many_elements",
        )
    header = _parse(bytes(source.array(8, length)))
    metadata = header.pop("__metadata__", {})
    data = 8 + length
    entries = [_Entry(name, row) for name, row in header.items()]
    _check_layout(entries, source.size - data)
    leaves = {entry.name: entry.leaf(source, data) for entry in entries}
    return Document("safetensors", leaves, _tied(metadata, set(leaves)))


class _Entry:
    """One tensor's row of the header, checked."""

    def __init__(self, name: str, row: object) -> None:
        self.name = name
        if not isinstance(row, dict) or set(row) != {"dtype", "shape", "data_offsets"}:
            raise _corrupt(f"the entry of tensor {shown(name)} does not state dtype, shape and data_offsets")
        self.dtype = _dtype(name, row["dtype"])
        self.shape = _naturals(name, row["shape"])
        offsets = _naturals(name, row["data_offsets"])
        if len(offsets) != 2 or len(self.shape) > MAX_DIMENSIONS:
            raise _corrupt(f"the entry of tensor {shown(name)} is malformed")
        self.begin, self.end = offsets
        if self.end - self.begin != prod(self.shape) * self.dtype.numpy.itemsize:
            raise _corrupt(f"tensor {shown(name)} states a shape that its bytes do not fill")

    def leaf(self, source: Source, data: int) -> FlatLeaf:
        """The tensor, still in the file whose data begin at ``data``."""

        def load(name: str) -> Tensor:
            raw = source.array(data + self.begin, self.end - self.begin)
            view = raw.view(self.dtype.numpy).reshape(self.shape)
            return Tensor(name, self.dtype.name, owned(view, self.dtype.numpy))

        return FlatLeaf(prod(self.shape), self.end - self.begin, load)


def _parse(header: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            header.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise _corrupt("the safetensors header is not JSON") from error
    if not isinstance(document, dict):
        raise _corrupt("the safetensors header is not a JSON object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        twice = [name for name, _ in pairs if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise CheckpointError(f"the safetensors header names {listed(twice)} twice", code="duplicate_name")
    return document


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} has no place in a safetensors header")


def _dtype(name: str, code: object) -> dtypes.DType:
    try:
        return dtypes.by_safetensors(code if isinstance(code, str) else str(code))
    except CheckpointError as error:
        raise CheckpointError(
            f"tensor {shown(name)} has element type {shown(code)}, which is not supported: convert it before saving",
            code="unsupported_dtype",
        ) from error


def _naturals(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(n) is not int or not 0 <= n < 2**63 for n in value):
        raise _corrupt(f"the entry of tensor {shown(name)} has a shape or offsets that are not natural numbers")
    return tuple(value)


def _check_layout(entries: list[_Entry], available: int) -> None:
    """The format's own rule: the tensors cover the data without gap, overlap or rest."""
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            raise _corrupt(f"the bytes of tensor {shown(entry.name)} overlap others or leave a gap")
        position = entry.end
    if position > available:
        raise CheckpointError(
            f"the tensors need {position} bytes and the file has {max(available, 0)}: it was cut off; upload it again",
            code="truncated",
        )
    if position < available:
        raise _corrupt(f"the file has {available - position} bytes that belong to no tensor")


def _tied(metadata: object, names: set[str]) -> tuple[tuple[str, ...], ...]:
    """The tied groups that our canonical form states. Foreign or malformed metadata states none."""
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _corrupt("the safetensors metadata is not a map of text to text")
    try:
        groups = json.loads(metadata.get(METADATA_KEY, "{}")).get("tied", [])
        tied = tuple(tuple(str(name) for name in group) for group in groups)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ()
    stated = [name for group in tied for name in group]
    sound = len(set(stated)) == len(stated) and set(stated) <= names and all(len(group) > 1 for group in tied)
    return tied if sound else ()


def _corrupt(detail: str) -> CheckpointError:
    return CheckpointError(f"{detail}: the file is damaged", code="corrupt")
