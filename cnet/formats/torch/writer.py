"""Writer of torch files, without PyTorch: a state dict in the zip format of ``torch.save`` since PyTorch 1.6.

``torch.load(path, weights_only=True)`` reads it. Tensors are written chunk by chunk, and the same tensors give the same
bytes. Source: ``torch/serialization.py`` and ``torch/_utils.py`` of PyTorch 2; Python's ``pickletools`` for opcodes.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from cnet.arrays import raw_bytes
from cnet.formats.writing import Array, TensorDescription, TensorsToWrite

_STORAGES = {  # element types since the first releases; the others came with PyTorch 2 and have no storage class
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage",
    "uint8": "ByteStorage", "bool": "BoolStorage", "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}  # fmt: skip
_ALIGNMENT = 64  # bytes; torch.load(mmap=True) uses the values in place
_LOCAL_HEADER = 30  # bytes of the header of a member before its name
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the first of the zip format, so that files of equal tensors are equal
_LARGE = 2**31  # bytes from which a member needs the headers of zip64
_NO_HOOKS = b"ccollections\nOrderedDict\n)R"


def write_torch(path: Path, tensors: TensorsToWrite) -> None:
    """Write a state dict of all tensors; tied tensors share one storage.

    Args:
        path: the file, replaced where it exists.
        tensors: what to write.
    """
    firsts = {row.name: row.name for row in tensors.descriptions}
    firsts |= {name: group[0] for group in tensors.tied for name in group}
    keys = {name: str(key) for key, name in enumerate(dict.fromkeys(firsts[row.name] for row in tensors.descriptions))}
    entries = b"".join(_text(row.name) + _tensor(row, keys[firsts[row.name]]) for row in tensors.descriptions)
    with path.open("wb") as file, zipfile.ZipFile(file, "w") as archive:
        _write(archive, file, "data.pkl", [b"\x80\x02}(" + entries + b"u."])
        _write(archive, file, "byteorder", [b"little"])
        for row in tensors.descriptions:
            if firsts[row.name] == row.name:
                _write(archive, file, f"data/{keys[row.name]}", tensors.chunks(row.name), row.nbytes)
        _write(archive, file, "version", [b"3\n"])


def _write(
    archive: zipfile.ZipFile, file: BinaryIO, name: str, chunks: Iterable[Array | bytes], nbytes: int = 0
) -> None:
    """Write a member, stored, whose bytes begin at a multiple of 64 bytes of the file."""
    member = zipfile.ZipInfo(f"archive/{name}", _TIMESTAMP)
    zip64 = nbytes >= _LARGE
    header = file.tell() + _LOCAL_HEADER + len(member.filename) + (20 if zip64 else 0) + 4
    padding = -header % _ALIGNMENT
    member.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding  # as PyTorch fills it up
    with archive.open(member, "w", force_zip64=zip64) as target:
        for chunk in chunks:
            target.write(chunk if isinstance(chunk, bytes) else raw_bytes(chunk))


def _tensor(row: TensorDescription, key: str) -> bytes:
    """The pickle of a contiguous tensor that is all of a storage."""
    strides = tuple(math.prod(max(extent, 1) for extent in row.shape[axis + 1 :]) for axis in range(len(row.shape)))
    storage = _STORAGES.get(row.dtype)
    elements = row.nbytes // row.itemsize
    kind, count = (f"torch\n{storage}", elements) if storage else ("torch.storage\nUntypedStorage", row.nbytes)
    pid = b"(" + _text("storage") + _name(kind) + _text(key) + _text("cpu") + _plain(count) + b"tQ"
    arguments = pid + _plain(0) + _plain(row.shape) + _plain(strides) + b"\x89" + _NO_HOOKS
    if storage:
        return _name("torch._utils\n_rebuild_tensor_v2") + b"(" + arguments + b"tR"
    return _name("torch._utils\n_rebuild_tensor_v3") + b"(" + arguments + _name(f"torch\n{row.dtype}") + b"tR"


def _name(module_and_name: str) -> bytes:
    return b"c" + module_and_name.encode() + b"\n"


def _text(text: str) -> bytes:
    encoded = text.encode()
    return b"X" + len(encoded).to_bytes(4, "little") + encoded


def _plain(value: int | tuple[int, ...]) -> bytes:
    """The pickle of an integer, or of a tuple of integers, without a memo."""
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_plain, value)) + b"t"
    return pickle.dumps(value, 2)[2:-1]
