"""Walking over the weights of a segment in steps, each step coded with what the steps before it tell.

Weights are arranged in lanes, pieces of w_net of equal length; step t codes the t-th weight of all lanes at once. The
context of a weight is its level (``_levels``), moved up or down by how the weights before it in the same kernel compare
with what their own levels let expect, and, with trellis-coded quantization, the grid that the lane is in.

A weight is coded as: zero or not; the bucket of its magnitude; its place in the bucket. Magnitudes are 1, 2, ...; the
buckets are 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, ..., two an octave.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.compact.lanes import Bytes, Lanes, Longs
from cnet.coding.compact.levels import LEVELS
from cnet.coding.primitives.adaptive import Coder, Ints, Model

GAINS = (0, 1, 2, 3, 4, 6)
"""Levels that a doubling of the neighbours' size moves a weight by; 0 takes no notice of neighbours."""

_PRIOR = 25  # how much a weight's own expectation counts beside its neighbours', which count 4 to 10 each
_FARTHEST = 8
_UNIT = 1024
_ADAPTIVE_BITS = 6  # the upper bits of a place in a bucket are modelled, what is below is noise
_SINGLE = 4


@dataclass(frozen=True, eq=False)
class Scene:
    """What both directions know before the walk.

    Attributes:
        largest: the largest magnitude.
        dense: no weight is zero.
        memory: bits of the trellis' state, or 0 for none.
        expected: mean magnitude on each level in 1/16, shape (LEVELS,), at least 1.
    """

    largest: int
    dense: bool
    memory: int
    expected: Longs


@dataclass(frozen=True, eq=False)
class _Models:
    """Tables that all steps share, made when first needed."""

    zero: Family
    bucket: Family
    place: dict[int, Model]

    @classmethod
    def for_largest(cls, largest: int, quick: bool) -> _Models:
        buckets = int(bucket_of(np.array([largest]))[0]) + 1
        places = {b: Model(1 << min(_ADAPTIVE_BITS, place_bits(b)), quick=quick) for b in range(_SINGLE, buckets)}
        return cls(Family(Model(2, 16, quick=quick)), Family(Model(buckets, quick=quick)), places)


class Family(dict[int, Model]):
    """Models by context; a new one starts from the one of the next lower context that there is."""

    def __init__(self, first: Model) -> None:
        super().__init__()
        self._first = first

    def __missing__(self, key: int) -> Model:
        lower = [known for known in self if known < key]
        self[key] = self[max(lower)].next_of_kind() if lower else self._first
        return self[key]


def bucket_of(magnitudes: npt.NDArray[np.integer]) -> Ints:
    """Bucket 0, 1, ... of magnitudes 1, 2, ..., int32."""
    buckets: Ints = _buckets_below(1 << int(magnitudes.max(initial=1)).bit_length())[magnitudes]
    return buckets


@cache
def _buckets_below(most: int) -> Ints:
    """Buckets of the magnitudes 0 (of no use) to ``most`` - 1, a power of two."""
    rank = np.maximum(np.arange(most) - 1, 0)
    exponent = np.frexp(np.maximum(rank, 1).astype(np.float64))[1] - 1
    wide = 2 * exponent + ((rank >> np.maximum(exponent - 1, 0)) & 1)
    return np.where(rank < _SINGLE, rank, wide).astype(np.int32)


def place_bits(bucket: int) -> int:
    """Bits of a place in a bucket."""
    return 0 if bucket < _SINGLE else bucket // 2 - 1


def first_of(bucket: int) -> int:
    """The smallest magnitude of a bucket."""
    return bucket + 1 if bucket < _SINGLE else ((2 + bucket % 2) << place_bits(bucket)) + 1


class Walk:
    """The walk over all lanes of a segment.

    Args:
        scene: what is known.
        mask, labels: coders of zeros, and of all else.
    """

    def __init__(self, scene: Scene, mask: Coder, labels: Coder, *, quick: bool = False) -> None:
        self._scene = scene
        self._mask = mask
        self._labels = labels
        self._models = _Models.for_largest(scene.largest, quick)

    def run(self, group: Lanes, gain: int, given: Ints | None) -> Ints:
        """Write ``given`` magnitudes (0: zero), shape (lanes, length), or read them.

        Args:
            group: the lanes.
            gain: one of GAINS.
            given: the magnitudes, None to read them.
        """
        known = np.zeros(group.levels.shape, np.int32)
        state = np.zeros(len(known), np.int64)
        step = trellis.transitions(self._scene.memory) if self._scene.memory else None
        for time, active, levels in steps(group, gain, self._scene.expected, known):
            keys = levels if step is None else levels + LEVELS * (state[active] & 1).astype(np.uint8)
            flags = None if group.kept is None else group.kept[active, time]
            column = self.code(keys, None if given is None else given[active, time], flags)
            known[active, time] = column
            if step is not None:
                state[active] = step[state[active], column & 1]
        return known

    def code(self, keys: Bytes, given: Ints | None, flags: Bytes | None = None) -> Ints:
        """One step: magnitudes of weights whose contexts are ``keys``; ``flags`` where it is known which are zero."""
        order = np.argsort(keys, kind="stable")
        counts = np.bincount(keys)
        contexts = np.flatnonzero(counts)
        ends = np.cumsum(counts[contexts])
        parts = [(int(key), slice(int(end - counts[key]), int(end))) for key, end in zip(contexts, ends, strict=True)]
        sorted_given = None if given is None else given[order]
        kept = self._kept(parts, sorted_given, len(keys)) if flags is None else flags[order].astype(np.int32)
        magnitudes = self._magnitudes(parts, kept, sorted_given)
        column = np.empty(len(keys), np.int32)
        column[order] = magnitudes
        return column

    def _kept(self, parts: list[tuple[int, slice]], given: Ints | None, count: int) -> Ints:
        kept = np.ones(count, np.int32)
        if not self._scene.dense:
            flags = None if given is None else np.minimum(given, 1)
            for key, part in parts:
                model = self._models.zero[key]
                kept[part] = self._mask.code(model, None if flags is None else flags[part], part.stop - part.start)
        return kept

    def _magnitudes(self, parts: list[tuple[int, slice]], kept: Ints, given: Ints | None) -> Ints:
        at = np.flatnonzero(kept)
        edges = np.searchsorted(at, [part.stop for _, part in parts])
        values = None if given is None else given[at]
        buckets = None if values is None else bucket_of(values)
        read, begin = np.empty(len(at), np.int32), 0
        for (key, _), end in zip(parts, edges, strict=True):
            if end > begin:
                model = self._models.bucket[key]
                read[begin:end] = self._labels.code(model, None if buckets is None else buckets[begin:end], end - begin)
            begin = end
        kept[at] = self._places(read, values)
        return kept

    def _places(self, buckets: Ints, values: Ints | None) -> Ints:
        """The magnitudes, from their buckets and the places in them."""
        magnitudes = buckets + 1
        for bucket in np.flatnonzero(np.bincount(buckets, minlength=_SINGLE)[_SINGLE:]) + _SINGLE:
            at = np.flatnonzero(buckets == bucket)
            given = None if values is None else values[at] - first_of(int(bucket))
            magnitudes[at] = self._place(int(bucket), given, len(at)) + first_of(int(bucket))
        if len(magnitudes) and int(magnitudes.max()) > self._scene.largest:
            raise ValueError("a label is out of range")
        return magnitudes

    def _place(self, bucket: int, given: Ints | None, count: int) -> Ints:
        noise = max(0, place_bits(bucket) - _ADAPTIVE_BITS)
        upper = self._labels.code(self._models.place[bucket], None if given is None else given >> noise, count)
        lower = self._labels.raw(None if given is None else given & ((1 << noise) - 1), noise, count)
        return (upper << noise) | lower


def steps(group: Lanes, gain: int, expected: Longs, known: Ints) -> Iterator[tuple[int, slice | Longs, Bytes]]:
    """Each step: its time, the lanes that still run, and their levels moved by what is ``known`` by then."""
    whole = bool(np.all(group.lengths == group.levels.shape[1]))
    for time in range(group.levels.shape[1]):
        active = slice(None) if whole else np.flatnonzero(group.lengths > time)
        levels = group.levels[active, time]
        if gain and time % group.positions:
            before = slice(time - time % group.positions, time)
            sizes = known[active, before], expected[group.levels[active, before]]
            shift = _shift(gain, group.influence[time % group.positions, : sizes[0].shape[1]], sizes, expected[levels])
            levels = np.clip(levels + shift, 0, LEVELS - 1).astype(np.uint8)
        yield time, active, levels


def _shift(gain: int, influence: Longs, sizes: tuple[npt.NDArray[np.integer], Longs], own: Longs) -> Longs:
    """How far levels move.

    Args:
        gain: one of GAINS, not 0.
        influence: of each neighbour, shape (neighbours,).
        sizes: of the neighbours as they are, and as their levels let expect in 1/16; shape (weights, neighbours) each.
        own: what the weights' own levels let expect.
    """
    known, expected = sizes
    seen = 16 * (known @ influence) + _PRIOR * own
    due = expected @ influence + _PRIOR * own
    return np.searchsorted(thresholds(gain), seen * _UNIT // due, side="right") - _FARTHEST


@cache
def thresholds(gain: int) -> Longs:
    """Ratios in 1/1024 from which on the level moves by -7, ..., 8; none is near a half, so all round alike."""
    exponents = (np.arange(1 - _FARTHEST, _FARTHEST + 1) - 0.5) / gain
    ratios: Longs = np.rint(_UNIT * np.exp2(exponents)).astype(np.int64)
    return ratios
