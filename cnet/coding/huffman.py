"""Deep Compression's encoding: distances between kept weights and labels, each under a Huffman code of its layer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.coding.encoder import ENCODERS, Encoder, Streams
from cnet.coding.primitives.huffman_code import Code, Numbers, code_lengths
from cnet.errors import BundleError
from cnet.symbols import Symbols

Bytes = npt.NDArray[np.uint8]


@ENCODERS.register("huffman")
class Huffman(Encoder):
    """Positions as runs of zeros, then labels; both Huffman-coded with a table a tensor.

    A run of up to 2^b - 2 zeros before a kept weight is a symbol; 2^b - 1 of them without a weight behind them are
    another, where the paper inserts a weight of zero. b is 5 for matrices and 8 for all else, as in the paper. The
    zeros after a tensor's last weight are not coded. ``mask`` and ``labels`` hold the code lengths of each tensor's
    table, a byte a symbol, and then the codes, most significant bit first; the header holds how many weights are kept
    and how many symbols their runs take, for each tensor. Without a quantizer ``labels`` are the values themselves.
    """

    name: Literal["huffman"] = "huffman"
    summary: ClassVar[str] = "Run lengths and labels under Huffman codes, a table a layer."
    source: ClassVar[str] = "Han, Mao and Dally, Deep Compression, 2016, sections 2 and 4"

    def encode(self, symbols: Symbols, shapes: list[tuple[int, ...]]) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and, where there are any, ``centroids``."""
        parts = list(_parts(shapes))
        runs = [_runs(symbols.keep[part], top) for part, top in parts]
        kept = [int(np.count_nonzero(symbols.keep[part])) for part, _ in parts]
        mask = _packed(runs, [top + 1 for _, top in parts])
        header = {"kept": kept, "runs": [len(run) for run in runs]}
        if symbols.labels is None:
            return {"mask": mask, "labels": symbols.centroids}, header
        labels = np.split(symbols.labels.astype(np.int64), np.cumsum(kept)[:-1]) if kept else []
        packed = _packed(labels, [len(symbols.centroids)] * len(kept))
        return {"mask": mask, "labels": packed, "centroids": symbols.centroids}, header

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:
        """The symbols, checked against each other."""
        parts = list(_parts(shapes))
        kept, counts = (_counts(header, name, len(parts)) for name in ("kept", "runs"))
        if not {"mask", "labels"} <= set(streams) <= {"mask", "labels", "centroids"}:
            raise BundleError("the bundle contradicts itself: its arrays are not those of its encoding")
        runs = _unpacked(streams["mask"], counts, [top + 1 for _, top in parts])
        keep = np.zeros(sum(math.prod(shape) for shape in shapes), np.bool_)
        for (part, top), run, count in zip(parts, runs, kept, strict=True):
            keep[part] = _filled(run, top, part.stop - part.start, count)
        if "centroids" not in streams:
            return Symbols(keep, None, _real(streams["labels"], sum(kept)))
        centroids = _real(streams["centroids"], None)
        labels = np.concatenate(
            [np.zeros(0, np.int64), *_unpacked(streams["labels"], kept, [len(centroids)] * len(kept))]
        )
        small = len(centroids) <= 256
        return Symbols(keep, labels.astype(np.uint8) if small else labels.astype(np.uint16), centroids)


def _parts(shapes: list[tuple[int, ...]]) -> Iterator[tuple[slice, int]]:
    """Where each tensor lies in w_net, and the length of the run that has no weight behind it."""
    start = 0
    for shape in shapes:
        stop = start + math.prod(shape)
        yield slice(start, stop), 31 if len(shape) == 2 else 255
        start = stop


def _runs(keep: npt.NDArray[np.bool_], top: int) -> Numbers:
    """The symbols of one tensor's positions."""
    places = np.flatnonzero(keep)
    gaps = np.diff(places, prepend=-1) - 1
    long = gaps // top
    symbols = np.full(int(np.sum(long)) + len(gaps), top, np.int64)
    symbols[np.cumsum(long + 1) - 1] = gaps % top
    return symbols


def _filled(runs: Numbers, top: int, size: int, count: int) -> npt.NDArray[np.bool_]:
    """One tensor's part of the mask."""
    places = np.cumsum(np.where(runs == top, top, runs + 1)) - 1
    places = places[runs != top]
    if len(places) != count or (count and int(places[-1]) >= size) or (len(runs) and int(runs[-1]) == top):
        raise BundleError("the bundle contradicts itself: its runs are not those of its tensors")
    keep = np.zeros(size, np.bool_)
    keep[places] = True
    return keep


def _packed(rows: list[Numbers], alphabets: list[int]) -> Bytes:
    """Each row under a code of its own: all tables, then all codes."""
    codes = [Code(code_lengths(np.bincount(row, minlength=n))) for row, n in zip(rows, alphabets, strict=True)]
    bits = [code.pack(row) for code, row in zip(codes, rows, strict=True)]
    tables = [code.lengths for code in codes]
    return np.concatenate([np.zeros(0, np.uint8), *tables, np.packbits(np.concatenate([np.zeros(0, np.uint8), *bits]))])


def _unpacked(stream: npt.NDArray[np.generic], counts: list[int], alphabets: list[int]) -> list[Numbers]:
    if stream.dtype != np.uint8 or len(stream) < sum(alphabets):
        raise BundleError("the bundle contradicts itself: a table of codes is cut off")
    data = stream.view(np.uint8)
    tables = np.split(data[: sum(alphabets)], np.cumsum(alphabets)[:-1]) if alphabets else []
    codes, position, rows = data[sum(alphabets) :], 0, []
    for table, count in zip(tables, counts, strict=True):
        row, position = Code(table).unpack(codes, position, count)
        rows.append(row)
    if -(-position // 8) != len(codes):
        raise BundleError("the bundle contradicts itself: there is more than its codes")
    return rows


def _counts(header: Mapping[str, Any], name: str, tensors: int) -> list[int]:
    counts = header.get(name)
    if not isinstance(counts, list) or len(counts) != tensors:
        raise BundleError("the bundle contradicts itself: its header is not that of its tensors")
    if any(not isinstance(count, int) or isinstance(count, bool) or count < 0 for count in counts):
        raise BundleError("the bundle contradicts itself: its header counts what cannot be counted")
    return counts


def _real(values: npt.NDArray[np.generic], count: int | None) -> npt.NDArray[np.floating]:
    """``values`` as they are, finite real numbers, ``count`` of them."""
    if values.dtype not in (np.float32, np.float64) or count not in (None, len(values)):
        raise BundleError("the bundle contradicts itself: its values are not those of its mask")
    real = values.view(np.float32) if values.dtype == np.float32 else values.view(np.float64)
    if count is None and not np.all(np.isfinite(real)):
        raise BundleError("the bundle holds centroids that are no numbers")
    return real
