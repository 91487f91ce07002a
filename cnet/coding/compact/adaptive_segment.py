"""Adaptive coding of a segment: zeros in the mask stream, magnitudes and signs in the label stream.

The mask stream holds the length of its entropy-coded bytes, these bytes, and the deflated bitmaps (``numpy.packbits``)
of those blocks that store their zeros as a bitmap. The entropy-coded bytes hold, in this order:

    the level of each weight
    the largest magnitude, whether no weight is zero, and the memory of the trellis
    the expected magnitude of each level that occurs
    which blocks have bitmaps
    for each group of lanes: how strongly neighbours shift a level (the gain), and which of its weights are zero

The label stream holds the magnitudes of all groups, then the signs.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.compact.context_model import GAINS, bucket_of, code_of_expected, expected_of_code
from cnet.coding.compact.lanes import Bytes, LongInts, lane_groups
from cnet.coding.compact.magnitude_coder import MagnitudeCoder, SegmentStatistics
from cnet.coding.compact.magnitude_levels import LEVELS, code_levels
from cnet.coding.compact.segment_parameters import SegmentParameters, choose_parameters
from cnet.coding.primitives.deflate import inflate
from cnet.coding.primitives.entropy_coder import AdaptiveModel, EntropyCoder, EntropyDecoder, EntropyEncoder, Ints
from cnet.coding.primitives.varint import decode_varint, encode_varint
from cnet.coding.segments import Segment

Bools = npt.NDArray[np.bool_]

_MAGNITUDE_BITS = 17
_MAX_EXPECTED_CODE = 4 * (_MAGNITUDE_BITS + 4)
_EXPECTED_SYMBOLS = 33
_GAIN_BITS = 3
_SIGN_INITIAL_COUNT = 16


def encode_adaptive(segment: Segment, magnitudes: Ints, negative: Bools, memory: int) -> tuple[bytes, bytes]:
    """The mask stream and the label stream of a segment.

    Args:
        segment: what is coded.
        magnitudes: of its weights: int32, shape (weights,), 0 where pruned; trellis steps where there is a trellis.
        negative: the signs of the non-zero weights, in their order: bool, shape (non-zeros,).
        memory: bits of the state of the trellis that ``magnitudes`` are steps of, or 0.
    """
    parameters = choose_parameters(segment, magnitudes, memory)
    mask, labels = EntropyEncoder(), EntropyEncoder()
    parts = segment.split(magnitudes)
    bits = [np.minimum(part, 1).astype(np.uint8) for part, used in zip(parts, parameters.bitmaps, strict=True) if used]
    bitmaps = zlib.compress(np.packbits(np.concatenate(bits)).tobytes(), 9) if bits else b""
    _SegmentCoder(segment, mask, labels, b"").code(parameters, magnitudes, negative)
    coded = mask.finish()
    return encode_varint(len(coded)) + coded + bitmaps, labels.finish()


def decode_adaptive(segment: Segment, mask: bytes, labels: bytes) -> tuple[Ints, Bools, int]:
    """The inverse of ``encode_adaptive``: magnitudes, signs and memory.

    Raises:
        ValueError: the bytes are not those of such a segment.
    """
    size, rest = decode_varint(memoryview(mask))
    decoders = EntropyDecoder(bytes(rest[:size])), EntropyDecoder(labels)
    found = _SegmentCoder(segment, *decoders, bytes(rest[size:])).code(None, None, None)
    for decoder in decoders:
        decoder.finish()
    return found


@dataclass(frozen=True, eq=False)
class _SegmentCoder:
    """Encodes or decodes one segment, as its coders do.

    Attributes:
        segment: what is coded.
        mask: coder of the mask stream.
        labels: coder of the label stream.
        bitmaps: deflated bitmaps; empty when encoding.
    """

    segment: Segment
    mask: EntropyCoder
    labels: EntropyCoder
    bitmaps: bytes

    def code(
        self, parameters: SegmentParameters | None, magnitudes: Ints | None, negative: Bools | None
    ) -> tuple[Ints, Bools, int]:
        """Encode what is given, or decode it where all is None: magnitudes, signs and memory."""
        blocks = self.segment.blocks
        levels = code_levels(self.mask, blocks, None if parameters is None else parameters.levels)
        fields = [level.levels() for level in levels]
        statistics = _code_statistics(self.mask, fields, None if parameters is None else parameters.statistics)
        bitmaps = self._code_bitmaps(None if parameters is None else parameters.bitmaps, magnitudes)
        coder = MagnitudeCoder(statistics, self.mask, self.labels)
        given = None if magnitudes is None else self.segment.split(magnitudes)
        parts: list[Ints] = [np.empty(0, np.int32)] * len(blocks)
        groups = lane_groups(self.segment, fields, trellis_lanes=statistics.memory > 0, bitmaps=bitmaps)
        for number, group in enumerate(groups):
            lanes = None if given is None else group.gather(given).astype(np.int32, copy=False)
            gain = self._code_gain(None if parameters is None else parameters.gains[number])
            group.scatter(coder.code(group, gain, lanes), parts)
        flat = np.concatenate([np.empty(0, np.int32), *parts])
        return flat, _code_signs(self.labels, flat[flat > 0], negative), statistics.memory

    def _code_gain(self, gain: int | None) -> int:
        return GAINS[_code_integer(self.mask, None if gain is None else GAINS.index(gain), _GAIN_BITS) % len(GAINS)]

    def _code_bitmaps(self, used: Sequence[bool] | None, magnitudes: Ints | None) -> dict[int, Bytes]:
        """By number of the block, which of its weights are not zero, where the zeros are stored as a bitmap."""
        given = None if used is None else np.array(used, np.int32)
        members = np.flatnonzero(self.mask.raw(given, 1, len(self.segment.blocks))).tolist()
        if magnitudes is not None:
            parts = self.segment.split(magnitudes)
            return {index: np.minimum(parts[index], 1).astype(np.uint8) for index in members}
        sizes = [self.segment.blocks[index].size for index in members]
        bits = _inflate_bits(self.bitmaps, sum(sizes))
        return dict(zip(members, np.split(bits, np.cumsum(sizes)), strict=False))  # the last part is empty


def _inflate_bits(content: bytes, count: int) -> Bytes:
    if count == 0 and not content:
        return np.empty(0, np.uint8)
    return np.unpackbits(np.frombuffer(inflate(content, -(-count // 8)), np.uint8), count=count)


def _code_statistics(
    coder: EntropyCoder, levels: Sequence[Bytes], given: SegmentStatistics | None
) -> SegmentStatistics:
    integers = None if given is None else [given.largest, int(given.dense), given.memory]
    largest, dense, memory = (
        _code_integer(coder, None if integers is None else integers[index], bits)
        for index, bits in enumerate((_MAGNITUDE_BITS, 1, 3))
    )
    if largest == 0 or memory not in (0, *trellis.MEMORIES):
        raise ValueError(
            f"mask stream: a largest magnitude of {largest} with a trellis memory of {memory} is impossible. "
            "Write the bundle again."
        )
    bare = SegmentStatistics(largest, bool(dense), memory, np.ones(LEVELS, np.int64))
    present = np.flatnonzero(sum((np.bincount(level, minlength=LEVELS) for level in levels), np.zeros(LEVELS, int)))
    return replace(bare, expected=_code_expected(coder, present, None if given is None else given.expected))


def _code_integer(coder: EntropyCoder, integer: int | None, bits: int) -> int:
    return int(coder.raw(None if integer is None else np.array([integer], np.int32), bits, 1)[0])


def _code_expected(coder: EntropyCoder, present: LongInts, expected: LongInts | None) -> LongInts:
    """Expected magnitudes of the levels that occur, each as its code's difference from the one before."""
    model, code, found = AdaptiveModel(_EXPECTED_SYMBOLS, initial_count=2), 0, np.ones(LEVELS, np.int64)
    half = _EXPECTED_SYMBOLS // 2
    for level in present:
        given = None
        if expected is not None:
            difference = code_of_expected(int(expected[level])) - code
            given = np.clip(np.array([difference], np.int32), -half, half) + half
        code += int(coder.code(model, given, 1)[0]) - half
        code = min(max(code, 0), _MAX_EXPECTED_CODE)
        found[level] = expected_of_code(code)
    return found


def _code_signs(coder: EntropyCoder, magnitudes: Ints, negative: Bools | None) -> Bools:
    """Signs of non-zero weights, grouped by the buckets of their magnitudes."""
    buckets = bucket_of(magnitudes).astype(np.uint8)
    order = np.argsort(buckets, kind="stable")
    given = None if negative is None else negative[order].astype(np.int32)
    counts, start = np.bincount(buckets), 0
    coded = np.empty(len(magnitudes), np.bool_)
    for count in counts[counts > 0]:
        part = slice(start, start + int(count))
        model = AdaptiveModel(2, _SIGN_INITIAL_COUNT, long_blocks=True)
        coded[part] = coder.code(model, None if given is None else given[part], int(count)) == 1
        start = part.stop
    signs = np.empty_like(coded)
    signs[order] = coded
    return signs
