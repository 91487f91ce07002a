"""One segment of w_net, to two streams of bytes and back: zeros in the first, magnitudes and signs in the second."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.compact import fit
from cnet.coding.compact.lanes import KindT, Lanes, Longs, from_lanes, lanes, to_lanes
from cnet.coding.compact.layout import Piece
from cnet.coding.compact.levels import LEVELS, Levels, code_levels
from cnet.coding.compact.walk import GAINS, Scene, Walk, bucket_of, steps
from cnet.coding.primitives.adaptive import Coder, Ints, Model, Reader, Writer
from cnet.coding.primitives.inflate import inflated
from cnet.coding.primitives.varint import put, take

Bools = npt.NDArray[np.bool_]

MOST = 2**17
"""Magnitudes are smaller than this."""

_MOST_BITS = 17
_FINEST = 4  # expectations are powers of two to this fraction of an octave
_LARGEST_CODE = 4 * (_MOST_BITS + 4)
_STEPS = 33
_SAMPLE_KINDS = 24
_BITMAP_BYTES = 12
_WORTH = 0.95  # neighbours save about so much of what levels let expect


@dataclass(frozen=True, eq=False)
class Plan:
    """What a writer has chosen.

    Attributes:
        levels: of all pieces.
        scene: of the walk.
        copied: for each piece, whether its zeros are stored as a bitmap.
        gains: of each group of lanes.
    """

    levels: list[Levels]
    scene: Scene
    copied: list[bool]
    gains: list[int]


def write(pieces: Sequence[Piece], magnitudes: Ints, negative: Bools, memory: int) -> tuple[bytes, bytes]:
    """The two streams.

    Args:
        pieces: of one segment, following each other.
        magnitudes: of all weights of the segment, flat; 0 where pruned. With a trellis, those of k.
        negative: of all weights that are not pruned, in their order.
        memory: bits of the state of the trellis that ``magnitudes`` is a path through, or 0.
    """
    plan = make_plan(pieces, magnitudes, memory)
    mask, labels = Writer(), Writer()
    parts = by_piece(pieces, magnitudes)
    bitmaps = [np.minimum(part, 1).astype(np.uint8) for part, copied in zip(parts, plan.copied, strict=True) if copied]
    bitmap = zlib.compress(np.packbits(np.concatenate(bitmaps)).tobytes(), 9) if bitmaps else b""
    _Segment(pieces, (mask, labels), b"").code(plan, magnitudes, negative)
    coded = mask.finish()
    return put(len(coded)) + coded + bitmap, labels.finish()


def read(pieces: Sequence[Piece], mask: bytes, labels: bytes) -> tuple[Ints, Bools, int]:
    """Magnitudes, signs and memory, as ``write`` was given them. Raises ValueError where the bytes are not its."""
    size, rest = take(memoryview(mask))
    readers = Reader(bytes(rest[:size])), Reader(labels)
    magnitudes, negative, memory = _Segment(pieces, readers, bytes(rest[size:])).code(None, None, None)
    for reader in readers:
        reader.finish()
    return magnitudes, negative, memory


@dataclass(frozen=True, eq=False)
class _Segment:
    pieces: Sequence[Piece]
    coders: tuple[Coder, Coder]
    bitmap: bytes

    def code(self, plan: Plan | None, magnitudes: Ints | None, negative: Bools | None) -> tuple[Ints, Bools, int]:
        """Write what is given, or read it where all is None."""
        mask, labels = self.coders
        levels = code_levels(mask, self.pieces, None if plan is None else plan.levels)
        fields = [level.field() for level in levels]
        scene = _code_scene(mask, fields, None if plan is None else plan.scene)
        flags = self._flags(None if plan is None else plan.copied, magnitudes)
        walk = Walk(scene, mask, labels)
        read_parts: list[Ints] = [np.empty(0, np.int32)] * len(self.pieces)
        for number, (members, group) in enumerate(lanes(self.pieces, fields, long=scene.memory > 0, flags=flags)):
            given = None if magnitudes is None else _group(self.pieces, members, magnitudes, group)
            gain = GAINS[_number(mask, None if plan is None else GAINS.index(plan.gains[number]), 3) % len(GAINS)]
            parts = from_lanes(walk.run(group, gain, given), [self.pieces[index].size for index in members])
            for index, part in zip(members, parts, strict=True):
                read_parts[index] = part.astype(np.int32, copy=False)
        flat = np.concatenate([np.empty(0, np.int32), *read_parts])
        return flat, code_signs(labels, flat[flat > 0], negative), scene.memory

    def _flags(self, copied: Sequence[bool] | None, magnitudes: Ints | None) -> dict[int, npt.NDArray[np.uint8]]:
        """Bitmaps of the pieces that have one."""
        given = None if copied is None else np.array(copied, np.int32)
        has = np.flatnonzero(self.coders[0].raw(given, 1, len(self.pieces))).tolist()
        if magnitudes is not None:
            parts = by_piece(self.pieces, magnitudes)
            return {index: np.minimum(parts[index], 1).astype(np.uint8) for index in has}
        sizes = [self.pieces[index].size for index in has]
        bits = _unpacked(self.bitmap, sum(sizes))
        return dict(zip(has, np.split(bits, np.cumsum(sizes)), strict=False))  # the last part is empty


def _unpacked(bitmap: bytes, count: int) -> npt.NDArray[np.uint8]:
    if count == 0 and not bitmap:
        return np.empty(0, np.uint8)
    return np.unpackbits(np.frombuffer(inflated(bitmap, -(-count // 8)), np.uint8), count=count)


def by_piece(pieces: Sequence[Piece], flat: npt.NDArray[KindT]) -> list[npt.NDArray[KindT]]:
    """The part of each piece."""
    origin = pieces[0].start
    return [flat[piece.start - origin : piece.start - origin + piece.size] for piece in pieces]


def _group(pieces: Sequence[Piece], members: Sequence[int], magnitudes: Ints, group: Lanes) -> Ints:
    origin = pieces[0].start
    parts = [magnitudes[pieces[i].start - origin : pieces[i].start - origin + pieces[i].size] for i in members]
    return to_lanes(parts, group.levels.shape[1]).astype(np.int32, copy=False)


def _code_scene(coder: Coder, fields: Sequence[npt.NDArray[np.uint8]], scene: Scene | None) -> Scene:
    numbers = None
    if scene is not None:
        numbers = [scene.largest, int(scene.dense), scene.memory]
    largest, dense, memory = (
        _number(coder, None if numbers is None else numbers[i], bits) for i, bits in enumerate((_MOST_BITS, 1, 3))
    )
    if largest == 0 or memory not in (0, *trellis.MEMORIES):
        raise ValueError("the scene of a segment is impossible")
    bare = Scene(largest, bool(dense), memory, np.ones(LEVELS, np.int64))
    present = np.flatnonzero(sum((np.bincount(field, minlength=LEVELS) for field in fields), np.zeros(LEVELS, int)))
    return replace(bare, expected=_code_expected(coder, present, None if scene is None else scene.expected))


def _number(coder: Coder, number: int | None, bits: int) -> int:
    return int(coder.raw(None if number is None else np.array([number], np.int32), bits, 1)[0])


def _code_expected(coder: Coder, present: Longs, expected: Longs | None) -> Longs:
    """Expectations of the levels that occur, as steps from one to the next."""
    model, code, read = Model(_STEPS, first=2), 0, np.ones(LEVELS, np.int64)
    for level in present:
        given = None
        if expected is not None:
            wanted = round(_FINEST * float(np.log2(expected[level])))
            given = np.clip(np.array([wanted - code], np.int32), -(_STEPS // 2), _STEPS // 2) + _STEPS // 2
        code += int(coder.code(model, given, 1)[0]) - _STEPS // 2
        code = min(max(code, 0), _LARGEST_CODE)
        read[level] = round(2 ** (code / _FINEST))
    return read


def code_signs(coder: Coder, magnitudes: Ints, negative: Bools | None) -> Bools:
    """Signs of the weights that are not zero, grouped by the buckets of their magnitudes."""
    buckets = bucket_of(magnitudes).astype(np.uint8)
    order = np.argsort(buckets, kind="stable")
    given = None if negative is None else negative[order].astype(np.int32)
    counts, start = np.bincount(buckets), 0
    coded = np.empty(len(magnitudes), np.bool_)
    for count in counts[counts > 0]:
        part = slice(start, start + int(count))
        coded[part] = coder.code(Model(2, 16, quick=True), None if given is None else given[part], int(count)) == 1
        start = part.stop
    signs = np.empty_like(coded)
    signs[order] = coded
    return signs


def make_plan(pieces: Sequence[Piece], magnitudes: Ints, memory: int) -> Plan:
    """Levels and scene that make the streams short."""
    parts = by_piece(pieces, magnitudes)
    levels = fit.start(pieces, parts)
    kinds = [kinds_of(part) for part in parts]
    fit.improve(pieces, levels, kinds)
    fields = [level.field() for level in levels]
    scene = Scene(int(magnitudes.max(initial=1)), bool(np.all(magnitudes > 0)), memory, expected_sizes(fields, parts))
    copied = [False] * len(pieces) if scene.dense else _copied(fields, parts)
    flags = {index: fields[index] for index, each in enumerate(copied) if each}
    gains = []
    for members, group in lanes(pieces, fields, long=False, flags=flags):
        given = _group(pieces, members, magnitudes, group)
        bits = [_gain_bits(group, gain, scene.expected, given) for gain in GAINS]
        gains.append(GAINS[int(np.argmin(bits))])
    return Plan(levels, scene, copied, gains)


def _copied(fields: Sequence[npt.NDArray[np.uint8]], parts: Sequence[Ints]) -> list[bool]:
    """Whether deflate finds more in the zeros of each piece than levels tell: repetition, as in filters by formula."""
    counts = np.zeros(2 * LEVELS)
    for field, part in zip(fields, parts, strict=True):
        counts += np.bincount(2 * field.astype(np.int64) + (part > 0), minlength=2 * LEVELS)
    table = counts.reshape(LEVELS, 2) + 0.5
    lengths = -np.log2(table / table.sum(1, keepdims=True))
    found = []
    for field, part in zip(fields, parts, strict=True):
        deflated = len(zlib.compress(np.packbits(part > 0).tobytes(), 9))
        found.append(8 * (deflated + _BITMAP_BYTES) < _WORTH * float(np.sum(lengths[field, np.minimum(part, 1)])))
    return found


def kinds_of(magnitudes: Ints) -> npt.NDArray[np.uint8]:
    """0 for zero, else 1 + bucket, the last kinds taken together."""
    table = np.minimum(bucket_of(np.arange(int(magnitudes.max(initial=1)) + 1)) + 1, _SAMPLE_KINDS - 1).astype(np.uint8)
    table[0] = 0
    kinds: npt.NDArray[np.uint8] = table[magnitudes]
    return kinds


def expected_sizes(fields: Sequence[npt.NDArray[np.uint8]], parts: Sequence[Ints]) -> Longs:
    """Mean magnitude on each level in 1/16, as the reader will have it."""
    counts, sums = np.ones(LEVELS), np.zeros(LEVELS)
    for field, part in zip(fields, parts, strict=True):
        counts += np.bincount(field, minlength=LEVELS)
        sums += np.bincount(field, part, minlength=LEVELS)
    codes = np.rint(_FINEST * np.log2(np.maximum(16 * sums / counts, 1.0)))
    return np.array([round(2 ** (int(code) / _FINEST)) for code in codes], np.int64)


def _gain_bits(group: Lanes, gain: int, expected: Longs, given: Ints) -> float:
    """Entropy of zeros and buckets given their moved levels: what one gain costs against another."""
    counts = np.zeros(LEVELS * _SAMPLE_KINDS, np.int64)
    for time, active, levels in steps(group, gain, expected, given):
        keys = levels.astype(np.int64) * _SAMPLE_KINDS + kinds_of(given[active, time])
        counts += np.bincount(keys, minlength=len(counts))
    table = counts.reshape(LEVELS, _SAMPLE_KINDS)
    table = table[table.sum(1) > 0]
    lengths = np.log2(np.maximum(table, 1)) - np.log2(table.sum(1, keepdims=True))
    return float(-(table * lengths).sum())
