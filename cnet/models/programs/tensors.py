"""The tensors of a ``torch.export`` archive: raw bytes whose layout a JSON member describes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cnet import dtypes
from cnet.errors import CheckpointError, ProgramError
from cnet.formats.parsing.contents import contiguous
from cnet.formats.parsing.mapped_file import Limits
from cnet.formats.parsing.quoting import quoted
from cnet.formats.parsing.tensor_values import check_booleans, check_finite
from cnet.models.programs.archive import CONSTANTS, WEIGHTS, Archive
from cnet.weights import Selection, Tensor

DTYPE_NAMES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    34: "uint32",
    35: "uint64",
}
"""Numbers of element types in the archive's schema to names of ``cnet.dtypes``."""

STRIDED = 7
_EXPORT_AGAIN = "Export the module again."


def dtype_name(number: object) -> str | None:
    """The name of the element type with a number of the archive's schema, or None where it is not supported."""
    return DTYPE_NAMES.get(number) if type(number) is int else None


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor of the archive. Two with equal ``identity`` are one tensor under two names."""

    tensor: Tensor
    identity: tuple[object, ...]
    is_parameter: bool


def read_tensors(archive: Archive, limits: Limits) -> tuple[dict[str, StoredTensor], dict[str, StoredTensor]]:
    """The weights (parameters and persistent buffers) and the constants of an archive, each by its name.

    Raises:
        ProgramError: ``corrupt``, ``truncated``, ``too_large``, or a code of ``CheckpointError`` for the values.
    """
    entries = [_entries(archive, WEIGHTS), _entries(archive, CONSTANTS) if CONSTANTS in archive.names else {}]
    elements = sum(_count(name, entry) for group in entries for name, entry in group.items())
    if elements > min(limits.elements, limits.decoded_bytes(archive.size)):
        raise ProgramError(
            f"program: its tensors have {elements} elements, more than the archive of {archive.size} "
            f"bytes can hold. {_EXPORT_AGAIN}",
            code="too_large",
        )
    weights, constants = (
        {name: _stored(archive, folder, name, entry) for name, entry in group.items()}
        for folder, group in zip(("data/weights", "data/constants"), entries, strict=True)
    )
    return weights, constants


def plain_sizes(values: Any, name: str) -> tuple[int, ...]:
    """Sizes or strides, each ``{"as_int": n}`` with n from 0 to 2^48. Raises ProgramError (``corrupt``)."""
    if not isinstance(values, list) or len(values) > 64:
        raise _damaged(name)
    return tuple(_plain_size(value, name) for value in values)


def _plain_size(value: Any, name: str) -> int:
    number = value.get("as_int") if isinstance(value, dict) and len(value) == 1 else None
    if type(number) is not int or not 0 <= number < 2**48:
        raise _damaged(name)
    return number


def _entries(archive: Archive, member: str) -> Mapping[str, dict[str, Any]]:
    document = archive.json(member)
    config = document.get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict) or not all(isinstance(entry, dict) for entry in config.values()):
        raise ProgramError(f"program: {member} does not describe tensors. {_EXPORT_AGAIN}", code="corrupt")
    for name in config:
        if not 0 < len(name) <= 1000 or not name.isprintable():
            raise ProgramError(f"program: {quoted(name)} is not a name of a tensor. {_EXPORT_AGAIN}", code="corrupt")
    return config


def _count(name: str, entry: dict[str, Any]) -> int:
    return math.prod(plain_sizes(_meta(name, entry).get("sizes"), name))


def _meta(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get("use_pickle") is not False:
        raise ProgramError(
            f"tensor {quoted(name)}: it is stored as a pickle, and pickles are never loaded. "
            "Convert it to a plain tensor and export again.",
            code="program_custom_object",
        )
    meta = entry.get("tensor_meta")
    if not isinstance(meta, dict) or meta.get("layout") != STRIDED:
        raise ProgramError(
            f"tensor {quoted(name)}: it is not a dense tensor. Convert it with .to_dense() and export again.",
            code="unsupported_layout",
        )
    return meta


def _stored(archive: Archive, folder: str, name: str, entry: dict[str, Any]) -> StoredTensor:
    meta, path = _meta(name, entry), entry.get("path_name")
    if not isinstance(path, str) or f"{folder}/{path}" not in archive.names:
        raise ProgramError(
            f"tensor {quoted(name)}: the archive does not hold its bytes. {_EXPORT_AGAIN}", code="truncated"
        )
    number = meta.get("dtype")
    element_type = dtype_name(number)
    if element_type is None:
        raise ProgramError(
            f"tensor {quoted(name)}: element type number {quoted(number)} is not supported. "
            "Convert it before exporting.",
            code="unsupported_dtype",
        )
    dtype = dtypes.by_name(element_type)
    sizes, strides = plain_sizes(meta.get("sizes"), name), plain_sizes(meta.get("strides"), name)
    offset = _plain_size(meta.get("storage_offset"), name)
    if len(sizes) != len(strides):
        raise _damaged(name)
    storage = archive.bytes(f"{folder}/{path}")
    held, width = len(storage) // dtype.numpy.itemsize, dtype.numpy.itemsize
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if math.prod(sizes) and (last >= held or math.prod(sizes) > held):
        raise ProgramError(
            f"tensor {quoted(name)}: it is larger than its {len(storage)} bytes. {_EXPORT_AGAIN}", code="truncated"
        )
    flat = storage[: held * width].view(dtype.numpy) if held else np.zeros(0, dtype.numpy)
    view = (
        np.lib.stride_tricks.as_strided(flat[offset:], sizes, [stride * width for stride in strides], writeable=False)
        if math.prod(sizes)
        else np.zeros(sizes, dtype.numpy)
    )
    tensor = Tensor(name, dtype.name, contiguous(view, dtype.numpy))
    try:
        check_booleans(tensor)
        if entry.get("is_param") and Selection().selects(name, dtype.name, sizes):  # buffers hold masks of -inf
            check_finite(tensor)
    except CheckpointError as error:
        raise ProgramError(error.detail, code=error.code) from error
    return StoredTensor(tensor, (folder, path, dtype.name, sizes, strides, offset), bool(entry.get("is_param")))


def _damaged(name: str) -> ProgramError:
    return ProgramError(
        f"tensor {quoted(name)}: the archive describes a shape that no tensor can have. {_EXPORT_AGAIN}", code="corrupt"
    )
