"""One segment of w_net, to two streams of bytes and back: zeros in the first, magnitudes and signs in the second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet import trellis
from cnet.encode import _fit
from cnet.encode._coder import Coder, Ints, Model, Reader, Writer
from cnet.encode._layout import Piece
from cnet.encode._levels import LEVELS, Levels, code_levels
from cnet.encode._walk import GAINS, Lanes, Longs, Scene, Walk, bucket_of, from_lanes, lanes, steps, to_lanes

Bools = npt.NDArray[np.bool_]

MOST = 2**17
"""Magnitudes are smaller than this."""

_MOST_BITS = 17
_FINEST = 4  # expectations are powers of two to this fraction of an octave
_LARGEST_CODE = 4 * (_MOST_BITS + 4)
_STEPS = 33
_SAMPLE_KINDS = 24


@dataclass(frozen=True, eq=False)
class Plan:
    """What a writer has chosen: the levels of all pieces, and the scene of the walk."""

    levels: list[Levels]
    scene: Scene


def write(pieces: Sequence[Piece], magnitudes: Ints, negative: Bools, memory: int) -> tuple[bytes, bytes]:
    """The two streams.

    Args:
        pieces: of one segment, following each other.
        magnitudes: of all weights of the segment, flat; 0 where pruned. With a trellis, those of k.
        negative: of all weights that are not pruned, in their order.
        memory: bits of the state of the trellis that ``magnitudes`` is a path through, or 0.
    """
    plan = _plan(pieces, magnitudes, memory)
    mask, labels = Writer(), Writer()
    _code(pieces, (mask, labels), plan, magnitudes, negative)
    return mask.finish(), labels.finish()


def read(pieces: Sequence[Piece], mask: bytes, labels: bytes) -> tuple[Ints, Bools, int]:
    """Magnitudes, signs and memory, as ``write`` was given them. Raises ValueError where the bytes are not its."""
    readers = Reader(mask), Reader(labels)
    magnitudes, negative, memory = _code(pieces, readers, None, None, None)
    for reader in readers:
        reader.finish()
    return magnitudes, negative, memory


def _code(
    pieces: Sequence[Piece],
    coders: tuple[Coder, Coder],
    plan: Plan | None,
    magnitudes: Ints | None,
    negative: Bools | None,
) -> tuple[Ints, Bools, int]:
    mask, labels = coders
    levels = code_levels(mask, pieces, None if plan is None else plan.levels)
    fields = [level.field() for level in levels]
    scene = _code_scene(mask, fields, None if plan is None else plan.scene)
    walk = Walk(scene, mask, labels)
    read_parts: list[Ints] = [np.empty(0, np.int32)] * len(pieces)
    for members, group in lanes(pieces, fields, scene.memory > 0):
        given = None if magnitudes is None else _group(pieces, members, magnitudes, group)
        parts = from_lanes(walk.run(group, given), [pieces[index].size for index in members])
        for index, part in zip(members, parts, strict=True):
            read_parts[index] = part.astype(np.int32, copy=False)
    flat = np.concatenate([np.empty(0, np.int32), *read_parts])
    return flat, code_signs(labels, flat[flat > 0], negative), scene.memory


def _group(pieces: Sequence[Piece], members: Sequence[int], magnitudes: Ints, group: Lanes) -> Ints:
    origin = pieces[0].start
    parts = [magnitudes[pieces[i].start - origin : pieces[i].start - origin + pieces[i].size] for i in members]
    return to_lanes(parts, group.levels.shape[1]).astype(np.int32, copy=False)


def _code_scene(coder: Coder, fields: Sequence[npt.NDArray[np.uint8]], scene: Scene | None) -> Scene:
    numbers = None
    if scene is not None:
        numbers = [scene.largest, int(scene.dense), GAINS.index(scene.gain), scene.memory]
    largest, dense, gain, memory = (
        int(coder.raw(None if numbers is None else np.array([numbers[i]], np.int32), bits, 1)[0])
        for i, bits in enumerate((_MOST_BITS, 1, 3, 3))
    )
    if gain >= len(GAINS) or memory not in (0, *trellis.MEMORIES):
        raise ValueError("the scene of a segment is impossible")
    bare = Scene(largest, bool(dense), GAINS[gain], memory, np.ones(LEVELS, np.int64))
    if bare.gain == 0:
        return bare
    present = np.flatnonzero(sum((np.bincount(field, minlength=LEVELS) for field in fields), np.zeros(LEVELS, int)))
    return replace(bare, expected=_code_expected(coder, present, None if scene is None else scene.expected))


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


def _plan(pieces: Sequence[Piece], magnitudes: Ints, memory: int) -> Plan:
    """Levels and scene that make the streams short."""
    origin = pieces[0].start
    parts = [magnitudes[piece.start - origin : piece.start - origin + piece.size] for piece in pieces]
    levels = _fit.start(pieces, parts)
    kinds = [kinds_of(part) for part in parts]
    _fit.improve(pieces, levels, kinds)
    fields = [level.field() for level in levels]
    largest = int(magnitudes.max(initial=1))
    scene = Scene(largest, bool(np.all(magnitudes > 0)), 0, memory, expected_sizes(fields, parts))
    gains = [_gain_bits(pieces, fields, replace(scene, gain=gain, memory=0), magnitudes) for gain in GAINS]
    scene = replace(scene, gain=GAINS[int(np.argmin(gains))])
    return Plan(levels, scene)


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


def _gain_bits(
    pieces: Sequence[Piece], fields: Sequence[npt.NDArray[np.uint8]], scene: Scene, magnitudes: Ints
) -> float:
    """Entropy of zeros and buckets given their moved levels: what one gain costs against another."""
    counts = np.zeros(LEVELS * _SAMPLE_KINDS, np.int64)
    for members, group in lanes(pieces, fields, long=False):
        given = _group(pieces, members, magnitudes, group)
        for time, active, levels in steps(group, scene, given):
            keys = levels.astype(np.int64) * _SAMPLE_KINDS + kinds_of(given[active, time])
            counts += np.bincount(keys, minlength=len(counts))
    table = counts.reshape(LEVELS, _SAMPLE_KINDS)
    table = table[table.sum(1) > 0]
    lengths = np.log2(np.maximum(table, 1)) - np.log2(table.sum(1, keepdims=True))
    return float(-(table * lengths).sum())
