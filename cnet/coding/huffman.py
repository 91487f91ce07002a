"""Deep Compression's encoding: run lengths of zeros and labels, each under a Huffman code of its tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.coding.encoder import ENCODERS, Encoder, Streams
from cnet.coding.primitives.huffman_code import CanonicalCode, LongInts, code_lengths
from cnet.coding.uniform_grid import narrow_labels
from cnet.errors import BundleError
from cnet.symbols import Symbols

Bytes = npt.NDArray[np.uint8]

_FULL_RUN_MATRIX, _FULL_RUN_OTHER = 2**5 - 1, 2**8 - 1


@ENCODERS.register("huffman")
class Huffman(Encoder):
    """Positions as run lengths of zeros, then labels; both Huffman-coded, with a table for each tensor.

    A run of up to 2^b - 2 zeros before a non-zero weight is a symbol; 2^b - 1 zeros without a weight behind them are
    another, where the paper inserts a weight of zero. b is 5 for matrices and 8 for all other tensors, as in the
    paper. The zeros after a tensor's last non-zero are not coded. ``mask`` and ``labels`` hold the code lengths of
    each tensor's table, a byte a symbol, and then the codes, most significant bit first; the header holds, for each
    tensor, how many weights are non-zero (``kept``) and how many symbols their run lengths take (``runs``). Without a
    quantizer ``labels`` are the values themselves.
    """

    name: Literal["huffman"] = "huffman"
    summary: ClassVar[str] = "Run lengths and labels under Huffman codes, a table a layer."
    source: ClassVar[str] = "Han, Mao and Dally, Deep Compression, 2016, sections 2 and 4"

    def encode(self, symbols: Symbols, shapes: list[tuple[int, ...]]) -> tuple[Streams, dict[str, Any]]:
        """``mask``, ``labels`` and, with a quantizer, ``centroids``; the header counts weights and runs."""
        tensors = list(_tensors(shapes))
        runs = [_run_symbols(symbols.keep[place], full) for place, full in tensors]
        kept = [int(np.count_nonzero(symbols.keep[place])) for place, _ in tensors]
        mask = _pack_rows(runs, [full + 1 for _, full in tensors])
        header = {"kept": kept, "runs": [len(run) for run in runs]}
        if symbols.labels is None:
            return {"mask": mask, "labels": symbols.centroids}, header
        labels = np.split(symbols.labels.astype(np.int64), np.cumsum(kept)[:-1]) if kept else []
        packed = _pack_rows(labels, [len(symbols.centroids)] * len(kept))
        return {"mask": mask, "labels": packed, "centroids": symbols.centroids}, header

    def decode(self, streams: Streams, header: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> Symbols:
        """The symbols. Raises BundleError where streams, header and shapes contradict each other."""
        tensors = list(_tensors(shapes))
        kept, counts = (_checked_counts(header, name, len(tensors)) for name in ("kept", "runs"))
        if not {"mask", "labels"} <= set(streams) <= {"mask", "labels", "centroids"}:
            raise BundleError(f"bundle streams: {sorted(streams)} are not of this encoder. Write the bundle again.")
        runs = _unpack_rows(streams["mask"], counts, [full + 1 for _, full in tensors])
        keep = np.zeros(sum(math.prod(shape) for shape in shapes), np.bool_)
        for (place, full), run, count in zip(tensors, runs, kept, strict=True):
            keep[place] = _mask_of(run, full, place.stop - place.start, count)
        if "centroids" not in streams:
            return Symbols(keep, None, _checked_values(streams["labels"], sum(kept)))
        centroids = _checked_values(streams["centroids"], None)
        rows = _unpack_rows(streams["labels"], kept, [len(centroids)] * len(kept))
        labels = np.concatenate([np.zeros(0, np.int64), *rows])
        return Symbols(keep, narrow_labels(labels, len(centroids)), centroids)


def _tensors(shapes: list[tuple[int, ...]]) -> Iterator[tuple[slice, int]]:
    """The range of each tensor in w_net, and the symbol of a run of zeros that ends without a weight."""
    start = 0
    for shape in shapes:
        stop = start + math.prod(shape)
        yield slice(start, stop), _FULL_RUN_MATRIX if len(shape) == 2 else _FULL_RUN_OTHER
        start = stop


def _run_symbols(keep: npt.NDArray[np.bool_], full: int) -> LongInts:
    """The symbols of the run lengths of one tensor's mask."""
    positions = np.flatnonzero(keep)
    runs = np.diff(positions, prepend=-1) - 1
    full_runs = runs // full
    symbols = np.full(int(np.sum(full_runs)) + len(runs), full, np.int64)
    symbols[np.cumsum(full_runs + 1) - 1] = runs % full
    return symbols


def _mask_of(symbols: LongInts, full: int, size: int, count: int) -> npt.NDArray[np.bool_]:
    """The inverse of ``_run_symbols``: the mask of a tensor of ``size`` weights, ``count`` of them non-zero."""
    positions = np.cumsum(np.where(symbols == full, full, symbols + 1)) - 1
    positions = positions[symbols != full]
    beyond = bool(count) and len(positions) == count and int(positions[-1]) >= size
    if len(positions) != count or beyond or (len(symbols) and int(symbols[-1]) == full):
        raise BundleError(
            f"bundle mask: its run lengths do not give {count} non-zeros in {size} weights. Write the bundle again."
        )
    keep = np.zeros(size, np.bool_)
    keep[positions] = True
    return keep


def _pack_rows(rows: list[LongInts], alphabets: list[int]) -> Bytes:
    """Each row of symbols under a code of its own: all tables of code lengths, then all codes."""
    codes = [CanonicalCode(code_lengths(np.bincount(row, minlength=n))) for row, n in zip(rows, alphabets, strict=True)]
    bits = [code.pack(row) for code, row in zip(codes, rows, strict=True)]
    tables = [code.lengths for code in codes]
    return np.concatenate([np.zeros(0, np.uint8), *tables, np.packbits(np.concatenate([np.zeros(0, np.uint8), *bits]))])


def _unpack_rows(stream: npt.NDArray[np.generic], counts: list[int], alphabets: list[int]) -> list[LongInts]:
    """The inverse of ``_pack_rows``; ``counts`` are the lengths of the rows."""
    if stream.dtype != np.uint8 or len(stream) < sum(alphabets):
        raise BundleError(
            f"bundle codes: {len(stream)} bytes are too few for the Huffman tables. Write the bundle again."
        )
    content = stream.view(np.uint8)
    tables = np.split(content[: sum(alphabets)], np.cumsum(alphabets)[:-1]) if alphabets else []
    codes, position, rows = content[sum(alphabets) :], 0, []
    for table, count in zip(tables, counts, strict=True):
        row, position = CanonicalCode(table).unpack(codes, position, count)
        rows.append(row)
    if -(-position // 8) != len(codes):
        raise BundleError(f"bundle codes: there are {len(codes)} bytes for {position} bits. Write the bundle again.")
    return rows


def _checked_counts(header: Mapping[str, Any], name: str, tensors: int) -> list[int]:
    counts = header.get(name)
    if not isinstance(counts, list) or len(counts) != tensors:
        raise BundleError(f"bundle header: {name!r} is not a list of {tensors} counts. Write the bundle again.")
    if any(not isinstance(count, int) or isinstance(count, bool) or count < 0 for count in counts):
        raise BundleError(f"bundle header: {name!r} has a value that is not a count. Write the bundle again.")
    return counts


def _checked_values(values: npt.NDArray[np.generic], count: int | None) -> npt.NDArray[np.floating]:
    """The values as they are: ``count`` real numbers, or, where that is None, any number of finite ones."""
    if values.dtype not in (np.float32, np.float64) or count not in (None, len(values)):
        raise BundleError(
            f"bundle values: {len(values)} values of {values.dtype} do not fit the mask. Write the bundle again."
        )
    real = values.view(np.float32) if values.dtype == np.float32 else values.view(np.float64)
    if count is None and not np.all(np.isfinite(real)):
        raise BundleError("bundle centroids: some are NaN or infinite. Write the bundle again.")
    return real
