"""The decoder of segments: any part of w_net from the segments that it lies in, each decoded once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from cnet.coding import ENCODERS, SegmentEncoder
from cnet.coding.compact.decoder import SegmentDecoder, open_streams
from cnet.coding.compact.encoder import Compact, CompactLimits
from cnet.errors import BundleError
from cnet.symbols import Symbols
from tests.unit.cnet.coding.symbols import Shapes, assert_equal, random_symbols, trellis_symbols

SHAPES: Shapes = [(40, 3, 3, 3), (7,), (30, 50)]
SMALL = CompactLimits(segment=500, adaptive=0, deflated=-1)


@dataclass
class WatchedBytes:
    """A stream in memory that notes what is read of it."""

    content: bytes
    reads: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.content)

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``."""
        self.reads.append((start, stop))
        return self.content[start:stop]


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of 500 weights."""
    monkeypatch.setattr(Compact, "limits", SMALL)


def opened(symbols: Symbols) -> tuple[Any, dict[str, WatchedBytes]]:
    """A decoder of the symbols' streams, and these."""
    compact = ENCODERS.create("compact")
    assert isinstance(compact, SegmentEncoder)
    streams, header = compact.encode(symbols, SHAPES)
    watched = {name: WatchedBytes(stream.tobytes()) for name, stream in streams.items()}
    return compact.open(watched, header, SHAPES), watched


def test_any_slice_decodes_as_in_the_whole_network() -> None:
    """Slices within a segment, across several, and empty ones."""
    symbols = random_symbols(SHAPES, 16, 0.4, 1)
    vector = symbols.vector()
    decoder, _ = opened(symbols)

    for part in (slice(0, 3), slice(400, 1200), slice(7, 7), slice(0, len(vector))):
        np.testing.assert_array_equal(decoder.values(part), vector[part])
    assert_equal(decoder.symbols(), symbols)
    decoder.verify()


def test_only_the_needed_segments_are_read() -> None:
    """Decoding one weight reads the bytes of its segment alone."""
    decoder, streams = opened(random_symbols(SHAPES, 16, 0.4, 1))
    assert isinstance(decoder, SegmentDecoder)
    for stream in streams.values():
        stream.reads.clear()

    decoder.values(slice(1100, 1101))

    number = next(n for n, segment in enumerate(decoder.segments) if segment.place.stop > 1100)
    bounds = decoder.bounds["mask"][number]
    assert streams["mask"].reads == [(bounds.start, bounds.stop)]


def test_values_without_a_quantizer_round_trip() -> None:
    """Each segment has its own values."""
    made = random_symbols(SHAPES, 16, 0.4, 1)
    symbols = Symbols(made.keep, None, made.vector()[made.keep])
    decoder, _ = opened(symbols)

    assert decoder.centroids is None
    assert_equal(decoder.symbols(), symbols)
    np.testing.assert_array_equal(decoder.values(slice(600, 1300)), made.vector()[600:1300])


def test_damage_affects_one_segment_only() -> None:
    """Other segments are still decoded."""
    symbols = random_symbols(SHAPES, 16, 0.4, 1)
    decoder, streams = opened(symbols)
    last = decoder.bounds["mask"][-1]
    content = streams["mask"].content
    streams["mask"].content = content[: last.start] + bytes(last.stop - last.start)

    np.testing.assert_array_equal(decoder.values(slice(0, 100)), symbols.vector()[:100])
    with pytest.raises(BundleError, match="segment"):
        decoder.verify()


def test_segments_of_different_trellises_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network has one trellis."""
    monkeypatch.setattr(Compact, "limits", CompactLimits(segment=2000, deflated=-1))
    compact = ENCODERS.create("compact")
    shapes: Shapes = [(40, 50), (40, 50)]
    decoders = []
    for memory in (2, 3):
        one = trellis_symbols([(40, 50)], memory)
        streams, header = compact.encode(
            Symbols(np.tile(one.keep, 2), np.tile(one.labels, 2), one.centroids),
            shapes,  # type: ignore[arg-type]
        )
        watched = {name: WatchedBytes(stream.tobytes()) for name, stream in streams.items()}
        decoders.append(open_streams(watched, header, shapes, 2000))
    first, second = decoders
    assert isinstance(first, SegmentDecoder)
    assert isinstance(second, SegmentDecoder)
    first.symbols()
    part = second.prepare
    monkeypatch.setattr(first, "prepare", lambda number, own=first.prepare: (own, part)[number](number))

    with pytest.raises(BundleError, match="memories"):
        first.symbols()


def test_a_mask_too_short_for_its_weights_is_refused() -> None:
    """Before memory is taken for them."""
    streams = {name: WatchedBytes(b"\3" * 9) for name in ("mask", "labels", "centroids")}
    with pytest.raises(ValueError, match="too few"):
        open_streams(streams, {}, [(2**40, 2**10)], 2**21)
