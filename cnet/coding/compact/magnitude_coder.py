"""Coding the magnitudes of a segment, weight after weight, in contexts.

With trellis-coded quantization the context of a weight is also the grid that its lane is on. A weight is coded as:
zero or not; the bucket of its magnitude; its place in the bucket (``context_model``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnet.coding import trellis
from cnet.coding.compact.context_model import bucket_of, context_steps, lowest_of, place_bits
from cnet.coding.compact.lanes import Bytes, LaneGroup, LongInts
from cnet.coding.compact.magnitude_levels import LEVELS
from cnet.coding.primitives.entropy_coder import AdaptiveModel, EntropyCoder, Ints

_MODELLED_BITS = 6  # the upper bits of a place in a bucket have a model; those below are noise
_ZERO_INITIAL_COUNT = 16


@dataclass(frozen=True, eq=False)
class SegmentStatistics:
    """What encoder and decoder know of a segment before its weights.

    Attributes:
        largest: the largest magnitude.
        dense: whether no weight is zero.
        memory: bits of the trellis' state, or 0 without a trellis.
        expected: mean magnitude on each level in 1/16: int64, shape (LEVELS,), at least 1.
    """

    largest: int
    dense: bool
    memory: int
    expected: LongInts


class ContextModels(dict[int, AdaptiveModel]):
    """Adaptive models by context; a new one starts from the one of the next lower known context.

    Args:
        first: the model of the first context.
    """

    def __init__(self, first: AdaptiveModel) -> None:
        super().__init__()
        self._first = first

    def __missing__(self, context: int) -> AdaptiveModel:
        lower = [known for known in self if known < context]
        self[context] = self[max(lower)].successor() if lower else self._first
        return self[context]


ContextRanges = list[tuple[int, slice]]
"""Contexts that occur in a step, ascending, and where their weights lie once sorted by context."""


class MagnitudeCoder:
    """Codes the magnitudes of all lanes of a segment.

    Args:
        statistics: of the segment.
        mask: codes which weights are zero.
        labels: codes all else.
    """

    def __init__(self, statistics: SegmentStatistics, mask: EntropyCoder, labels: EntropyCoder) -> None:
        self._statistics = statistics
        self._mask = mask
        self._labels = labels
        buckets = int(bucket_of(np.array([statistics.largest]))[0]) + 1
        self._zero_models = ContextModels(AdaptiveModel(2, _ZERO_INITIAL_COUNT))
        self._bucket_models = ContextModels(AdaptiveModel(buckets))
        wide = [bucket for bucket in range(buckets) if place_bits(bucket) > 0]
        self._place_models = {b: AdaptiveModel(1 << min(_MODELLED_BITS, place_bits(b))) for b in wide}

    def code(self, group: LaneGroup, gain: int, magnitudes: Ints | None) -> Ints:
        """Code the magnitudes of a group of lanes, zeros included.

        Args:
            group: the lanes.
            gain: one of ``context_model.GAINS``.
            magnitudes: int32, shape (lanes, length); None when decoding.

        Returns:
            the magnitudes, int32, shape (lanes, length).

        Raises:
            ValueError: a decoded magnitude is out of range.
        """
        known = np.zeros(group.levels.shape, np.int32)
        state = np.zeros(len(known), np.int64)
        memory = self._statistics.memory
        following = trellis.transitions(memory) if memory else None
        for step, active, levels in context_steps(group, gain, self._statistics.expected, known):
            contexts = levels if following is None else levels + LEVELS * (state[active] & 1).astype(np.uint8)
            non_zero = None if group.non_zero is None else group.non_zero[active, step]
            column = self._code_step(contexts, None if magnitudes is None else magnitudes[active, step], non_zero)
            known[active, step] = column
            if following is not None:
                state[active] = following[state[active], column & 1]
        return known

    def _code_step(self, contexts: Bytes, magnitudes: Ints | None, non_zero: Bytes | None) -> Ints:
        order = np.argsort(contexts, kind="stable")
        counts = np.bincount(contexts)
        present = np.flatnonzero(counts)
        ends = np.cumsum(counts[present])
        ranges = [(int(key), slice(int(end - counts[key]), int(end))) for key, end in zip(present, ends, strict=True)]
        given = None if magnitudes is None else magnitudes[order]
        mask = self._code_mask(ranges, given, len(contexts)) if non_zero is None else non_zero[order].astype(np.int32)
        column = np.empty(len(contexts), np.int32)
        column[order] = self._code_non_zeros(ranges, mask, given)
        return column

    def _code_mask(self, ranges: ContextRanges, given: Ints | None, count: int) -> Ints:
        mask = np.ones(count, np.int32)
        if not self._statistics.dense:
            flags = None if given is None else np.minimum(given, 1)
            for context, part in ranges:
                model = self._zero_models[context]
                mask[part] = self._mask.code(model, None if flags is None else flags[part], part.stop - part.start)
        return mask

    def _code_non_zeros(self, ranges: ContextRanges, mask: Ints, given: Ints | None) -> Ints:
        """All magnitudes; ``mask`` is 1 where they are not zero."""
        at = np.flatnonzero(mask)
        edges = np.searchsorted(at, [part.stop for _, part in ranges])
        magnitudes = None if given is None else given[at]
        buckets = None if magnitudes is None else bucket_of(magnitudes)
        coded, start = np.empty(len(at), np.int32), 0
        for (context, _), end in zip(ranges, edges, strict=True):
            if end > start:
                part = slice(start, end)
                model = self._bucket_models[context]
                coded[part] = self._labels.code(model, None if buckets is None else buckets[part], end - start)
            start = end
        mask[at] = self._code_places(coded, magnitudes)
        return mask

    def _code_places(self, buckets: Ints, given: Ints | None) -> Ints:
        """Magnitudes, from their buckets and their places in these."""
        magnitudes = buckets + 1
        for bucket in np.flatnonzero(np.bincount(buckets, minlength=1)):
            if place_bits(int(bucket)):
                at = np.flatnonzero(buckets == bucket)
                lowest = lowest_of(int(bucket))
                places = None if given is None else given[at] - lowest
                magnitudes[at] = self._code_place(int(bucket), places, len(at)) + lowest
        if len(magnitudes) and int(magnitudes.max()) > self._statistics.largest:
            raise ValueError(
                f"labels stream: a magnitude exceeds {self._statistics.largest}, the largest. Write the bundle again."
            )
        return magnitudes

    def _code_place(self, bucket: int, given: Ints | None, count: int) -> Ints:
        noise = max(0, place_bits(bucket) - _MODELLED_BITS)
        upper = self._labels.code(self._place_models[bucket], None if given is None else given >> noise, count)
        lower = self._labels.raw(None if given is None else given & ((1 << noise) - 1), noise, count)
        return (upper << noise) | lower
