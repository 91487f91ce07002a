"""Safetensors files, read strictly: every byte is accounted for, and bfloat16 and float8 are kept as bits.

The format is that of the safetensors specification: 8 bytes of little-endian header length, a JSON header, the values.
The ``safetensors`` package cannot give bfloat16 and float8 to NumPy and takes the last of two equal keys, so the
header is parsed here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import CheckpointError, CnetError
from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.parsing.contents import MAX_DIMENSIONS, CheckpointContents, Notice, StoredArray, contiguous, damaged
from cnet.formats.parsing.contents import unsupported_dtype as unsupported
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.quoting import quoted, quoted_list
from cnet.formats.writing import TensorDescription, TensorsToWrite, write_chunks

_METADATA_KEY = "cnet"  # our entry of ``__metadata__``: JSON with a version and the tied groups
LONGEST_METADATA = 2**16
"""The most bytes of metadata that are carried from a file to its bundles."""

_ALIGNMENT = 8
_LONGEST_HEADER = Limits().header_bytes


@FORMATS.register("safetensors")
class Safetensors(CheckpointFormat):
    """Hugging Face's format of named tensors."""

    summary: ClassVar[str] = "Hugging Face's safetensors: named tensors of every element type."
    source: ClassVar[str] = "https://github.com/huggingface/safetensors#format"
    suffixes: ClassVar[tuple[str, ...]] = (".safetensors",)
    writable: ClassVar[bool] = True

    name: Literal["safetensors"] = "safetensors"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether a JSON object follows a header length that the format allows."""
        head = file.head(9)
        return head[8:] == b"{" and int.from_bytes(head[:8], "little") <= _LONGEST_HEADER

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The tensors, in the order of the header."""
        return read_safetensors(file, limits)

    def write(self, path: Path, tensors: TensorsToWrite, template: Path | None = None) -> None:
        """Write tensors in their own element types.

        Raises:
            CnetError: (``unwritable``) a tensor is of the type complex128.
        """
        del template
        unwritable = [row.name for row in tensors.descriptions if row.dtype == "complex128"]
        if unwritable:
            raise CnetError(
                f"tensor {quoted(unwritable[0])}: safetensors files have no element type complex128. "
                "Write torch or npz.",
                code="unwritable",
            )
        write_safetensors(path, tensors)


def read_safetensors(file: MappedFile, limits: Limits) -> CheckpointContents:
    """The tensors of a safetensors file, in the order of its header.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``duplicate_name``, ``unsupported_dtype`` or ``too_many_elements``.
    """
    header, start = _read_header(file, limits)
    metadata = header.pop("__metadata__", {})
    entries = [_HeaderEntry(name, row) for name, row in header.items()]
    _check_layout(entries, file.size - start)
    tensors = {entry.name: entry.stored_array(file, start) for entry in entries}
    tied = _tied_groups(metadata, set(tensors))
    own, notices = _own_metadata(_text_map(metadata))
    return CheckpointContents(tensors, tied, notices, own)


def read_metadata(file: MappedFile, limits: Limits) -> dict[str, str]:
    """The ``__metadata__`` of a safetensors file. No tensor is read.

    Raises:
        CheckpointError: ``truncated``, ``corrupt`` or ``too_many_elements``.
    """
    header, _ = _read_header(file, limits)
    return _text_map(header.get("__metadata__", {}))


def _read_header(file: MappedFile, limits: Limits) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, and the position at which its values begin."""
    length = int.from_bytes(file.array(0, 8), "little")
    if length > limits.header_bytes:
        raise CheckpointError(
            f"the safetensors header has {length} bytes, and at most {limits.header_bytes} are accepted. "
            "Save fewer tensors or shorter metadata.",
            code="too_many_elements",
        )
    if length > file.size - 8:
        raise CheckpointError(
            "the safetensors header is longer than the file, so it was cut off. Copy or upload it again.",
            code="truncated",
        )
    return _parse_header(bytes(file.array(8, length))), 8 + length


def write_safetensors(path: Path, tensors: TensorsToWrite, metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file, chunk by chunk. The same tensors and metadata give the same bytes.

    The header lists the tensors in their own order, tied copies too. Their values follow by falling element size, so
    that every tensor is aligned and can be used in place, and start at a multiple of 8 bytes. ``__metadata__`` has the
    entry ``cnet``, JSON with ``version`` and the ``tied`` groups, and then those of ``metadata``; None stands for those
    of the tensors, and ``format`` = ``pt`` where they state no format, without which some loaders refuse a file.
    """
    by_size = sorted(tensors.descriptions, key=lambda row: -row.itemsize)  # stable: equal sizes keep their order
    header = _header(tensors, by_size, {"format": "pt", **tensors.metadata} if metadata is None else metadata)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for row in by_size:
            write_chunks(file, tensors.chunks(row.name))


def _header(tensors: TensorsToWrite, by_size: Sequence[TensorDescription], metadata: Mapping[str, str]) -> bytes:
    offsets, position = {}, 0
    for row in by_size:
        offsets[row.name] = [position, position + row.nbytes]
        position += row.nbytes
    stated = json.dumps({"version": 1, "tied": tensors.tied}, ensure_ascii=False, separators=(",", ":"))
    header: dict[str, Any] = {"__metadata__": {**metadata, _METADATA_KEY: stated}}
    for row in tensors.descriptions:
        code = dtypes.by_name(row.dtype).safetensors
        header[row.name] = {"dtype": code, "shape": row.shape, "data_offsets": offsets[row.name]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % _ALIGNMENT)


class _HeaderEntry:
    """The entry of one tensor in the header, checked."""

    def __init__(self, name: str, row: object) -> None:
        self.name = name
        if not isinstance(row, dict) or set(row) != {"dtype", "shape", "data_offsets"}:
            raise damaged(f"tensor {quoted(name)}", "its entry does not state dtype, shape and data_offsets")
        self.dtype = _dtype(name, row["dtype"])
        self.shape = _naturals(name, row["shape"])
        offsets = _naturals(name, row["data_offsets"])
        if len(offsets) != 2 or len(self.shape) > MAX_DIMENSIONS:
            raise damaged(
                f"tensor {quoted(name)}", f"it has {len(self.shape)} dimensions and {len(offsets)} offsets instead of 2"
            )
        self.begin, self.end = offsets
        if self.end - self.begin != prod(self.shape) * self.dtype.numpy.itemsize:
            raise damaged(f"tensor {quoted(name)}", f"its bytes do not fill the stated shape {self.shape}")

    def stored_array(self, file: MappedFile, start: int) -> StoredArray:
        """The tensor in a file whose values begin at byte ``start``."""

        def read() -> npt.NDArray[np.generic]:
            raw = file.array(start + self.begin, self.end - self.begin)
            return contiguous(raw.view(self.dtype.numpy).reshape(self.shape), self.dtype.numpy)

        return StoredArray(self.dtype.name, self.shape, read)


def _parse_header(header: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            header.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_number, parse_float=_refuse_number
        )
    except (ValueError, RecursionError) as error:
        raise damaged("the safetensors header", "it is not JSON") from error
    if not isinstance(document, dict):
        raise damaged("the safetensors header", "it is not a JSON object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        twice = [name for name, _ in pairs if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise CheckpointError(
            f"the safetensors header names tensors twice: {quoted_list(twice)}. Save each tensor once.",
            code="duplicate_name",
        )
    return document


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text}: a safetensors header has integers only")


def _dtype(name: str, code: object) -> dtypes.DType:
    try:
        return dtypes.by_safetensors(code if isinstance(code, str) else str(code))
    except CheckpointError as error:
        raise unsupported(name, quoted(code)) from error


def _naturals(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(n) is not int or not 0 <= n < 2**63 for n in value):
        raise damaged(f"tensor {quoted(name)}", "its shape or offsets are not natural numbers")
    return tuple(value)


def _check_layout(entries: list[_HeaderEntry], available: int) -> None:
    """Check the rule of the format that the tensors cover all bytes without a gap or an overlap."""
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            raise damaged(f"tensor {quoted(entry.name)}", "its bytes overlap others or leave a gap")
        position = entry.end
    if position > available:
        raise CheckpointError(
            f"the tensors take {position} bytes and the file has {max(available, 0)}: it was cut off. "
            "Copy or upload it again.",
            code="truncated",
        )
    if position < available:
        raise damaged("the file", f"{available - position} bytes of it belong to no tensor")


def _own_metadata(metadata: Mapping[str, str]) -> tuple[dict[str, str], tuple[Notice, ...]]:
    """What a file states about itself, less our own entry, and a notice where it is too long to be carried along."""
    own = {key: value for key, value in metadata.items() if key != _METADATA_KEY}
    try:
        size = sum(len(text.encode()) for entry in own.items() for text in entry)
    except UnicodeEncodeError as error:
        raise damaged("the safetensors header", "its metadata is not valid text") from error
    if size <= LONGEST_METADATA:
        return own, ()
    detail = f"the metadata of the file has {size} bytes, more than {LONGEST_METADATA}, and was left out"
    return {}, (Notice("ignored_metadata", detail),)


def _tied_groups(metadata: object, names: set[str]) -> tuple[tuple[str, ...], ...]:
    """The tied groups that our own files state. There are none in other files, nor where the statement is malformed."""
    try:
        groups = json.loads(_text_map(metadata).get(_METADATA_KEY, "{}")).get("tied", [])
        tied = tuple(tuple(str(name) for name in group) for group in groups)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ()
    stated = [name for group in tied for name in group]
    sound = len(set(stated)) == len(stated) and set(stated) <= names and all(len(group) > 1 for group in tied)
    return tied if sound else ()


def _text_map(metadata: object) -> dict[str, str]:
    """The metadata of a header, checked."""
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise damaged("the safetensors header", "its metadata is not a map of text to text")
    return metadata
