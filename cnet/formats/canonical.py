"""The canonical form of weights: one safetensors file, the same bytes for the same weights.

Its header lists the tensors in the order of the checkpoint, tied copies too. The data lie by falling element size, so
that every tensor is aligned and can be used in place, and start at a multiple of 8 bytes. ``__metadata__`` has one
entry, ``cnet``: JSON with ``version`` and the ``tied`` groups. Any safetensors reader can read it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.formats.base import Limits, Source
from cnet.formats.safetensors import METADATA_KEY, read_safetensors
from cnet.weights import Selection, Weights

_ALIGNMENT = 8


@dataclass(frozen=True)
class Described:
    """A tensor without its values: its name, the name of its element type, its shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return dtypes.by_name(self.dtype).numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.itemsize


def write_canonical(path: Path, weights: Weights) -> None:
    """Write ``weights`` to a new file or over an old one. Raises OSError where there is no space."""
    rows = [Described(tensor.name, tensor.dtype, tensor.shape) for tensor in weights]
    write_described(path, rows, weights.tied, lambda name: [weights[name].data])


def write_described(
    path: Path,
    rows: Sequence[Described],
    tied: Sequence[Sequence[str]],
    pieces: Callable[[str], Iterable[npt.NDArray[np.generic]]],
) -> None:
    """The same for tensors that need not be in memory.

    Args:
        path: the file.
        rows: all tensors, in the net's order.
        tied: groups of names that share their values.
        pieces: the elements of a tensor, in its storage type and C order, in as many parts as there may be.
    """
    by_size = sorted(rows, key=lambda row: -row.itemsize)  # stable: the order of the file within a size
    header = _header(rows, by_size, tied)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for row in by_size:
            write_values(file, pieces(row.name))


def write_values(file: BinaryIO, pieces: Iterable[npt.NDArray[np.generic]]) -> None:
    """The elements of one tensor, part after part."""
    for piece in pieces:
        if piece.size:
            file.write(np.ascontiguousarray(piece).reshape(-1).data.cast("B"))


def read_canonical(path: Path, selection: Selection | None = None) -> Weights:
    """Map what ``write_canonical`` wrote. The arrays are read-only; the file must stay as it is while they live.

    Args:
        path: the file.
        selection: which tensors are compressible; the default rule where None.

    Raises:
        CheckpointError: the file is damaged.
        OSError: it cannot be opened.
    """
    document = read_safetensors(Source.open(path), Limits())
    if not isinstance(document.root, dict):
        raise CheckpointError("the canonical file is damaged", code="corrupt")
    tensors = [leaf.load(name) for name, leaf in document.root.items()]
    return Weights.select(tensors, selection, document.tied)


def _header(rows: Sequence[Described], by_size: Sequence[Described], tied: Sequence[Sequence[str]]) -> bytes:
    offsets, position = {}, 0
    for row in by_size:
        offsets[row.name] = [position, position + row.nbytes]
        position += row.nbytes
    stated = json.dumps({"version": 1, "tied": tied}, ensure_ascii=False, separators=(",", ":"))
    header: dict[str, Any] = {"__metadata__": {METADATA_KEY: stated}}
    for row in rows:
        code = dtypes.by_name(row.dtype).safetensors
        header[row.name] = {"dtype": code, "shape": row.shape, "data_offsets": offsets[row.name]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % _ALIGNMENT)
