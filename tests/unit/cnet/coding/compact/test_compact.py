"""The compact encoding: exact both ways for every net, smaller than the paper's, and strict on the way back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.coding import ENCODERS, Streams, trellis
from cnet.coding.compact import coded, encoder, opening
from cnet.coding.compact.layout import segments
from cnet.coding.compact.paths import memory_of
from cnet.errors import BundleError
from cnet.symbols import Symbols
from tests.unit.cnet.coding.test_npz import assert_equal

COMPACT = ENCODERS.create("compact")
SIZES = st.sampled_from([1, 2, 3, 16, 17, 256, 257, 4000, 65536])


def tensor_shapes() -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Up to four tensors of nought to five dimensions, empty ones too."""
    return st.lists(st.lists(st.integers(0, 7), max_size=5).map(tuple), max_size=4)


def made(shapes: list[tuple[int, ...]], clusters: int, density: float, seed: int, scale: float = 1.0) -> Symbols:
    """Symbols with random mask and labels; fewer centroids where there are fewer kept weights."""
    rng = np.random.default_rng(seed)
    keep = rng.random(sum(map(math.prod, shapes))) < density
    count = min(clusters, int(np.count_nonzero(keep)))
    centroids = np.unique((rng.standard_normal(count) * scale).astype(np.float32))
    labels = rng.integers(0, max(1, len(centroids)), int(np.count_nonzero(keep)))
    return Symbols(keep, labels.astype(np.uint8 if len(centroids) <= 256 else np.uint16), centroids)


def round_trip(symbols: Symbols, shapes: list[tuple[int, ...]]) -> Symbols:
    """What is decoded from the streams."""
    streams, header = COMPACT.encode(symbols, shapes)
    return COMPACT.decode(streams, header, shapes)


@given(
    tensor_shapes(), SIZES, st.sampled_from([0.0, 0.1, 0.9, 1.0]), st.integers(0, 9), st.sampled_from([1e-38, 1, 5e37])
)
@settings(deadline=None)
def test_symbols_come_back(
    shapes: list[tuple[int, ...]], clusters: int, density: float, seed: int, scale: float
) -> None:
    """Any shapes, mask, labels and size of centroids survive bit for bit."""
    symbols = made(shapes, clusters, density, seed, scale)
    assert_equal(round_trip(symbols, shapes), symbols)


@given(tensor_shapes(), SIZES, st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_symbols_come_back_the_quick_way(
    shapes: list[tuple[int, ...]], clusters: int, density: float, seed: int
) -> None:
    """The form for large nets holds small ones as well."""
    symbols = made(shapes, clusters, density, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_WALK", 0)
        patch.setattr(encoder, "_TRY_PLAIN", -1)
        streams, header = COMPACT.encode(symbols, shapes)
    assert_equal(COMPACT.decode(streams, header, shapes), symbols)


@given(tensor_shapes(), SIZES, st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_symbols_come_back_without_the_plain_form(
    shapes: list[tuple[int, ...]], clusters: int, density: float, seed: int
) -> None:
    """Nets that would be stored plainly survive the coder too."""
    symbols = made(shapes, clusters, density, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_TRY_PLAIN", -1)
        streams, header = COMPACT.encode(symbols, shapes)
    assert_equal(COMPACT.decode(streams, header, shapes), symbols)


@pytest.mark.parametrize("way", [0, 2**40])
def test_large_tensors_are_cut(way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that end inside a tensor change nothing."""
    shapes = [(40, 3, 3, 3), (7,), (30, 50), (1, 900)]
    symbols = made(shapes, 40, 0.4, 1)
    monkeypatch.setattr(encoder, "_WALK", way)
    for module in (encoder, opening):
        monkeypatch.setattr(module, "segments", lambda given: segments(given, 500))

    assert len(segments(shapes, 500)) > 4
    assert_equal(round_trip(symbols, shapes), symbols)


def test_every_label_can_be_there() -> None:
    """65,536 centroids, each used once."""
    centroids = np.arange(-30000, 35536).astype(np.float32) + np.float32(0.5)
    symbols = Symbols(np.ones(65536, np.bool_), np.arange(65536)[::-1].astype(np.uint16), centroids)
    assert_equal(round_trip(symbols, [(256, 256)]), symbols)


@pytest.mark.parametrize("memory", trellis.MEMORIES)
@pytest.mark.parametrize("shapes", [[(33, 5, 3, 3), (10, 70), (4,)], [(700,)], [(2, 3, 40, 40)]])
def test_paths_through_a_trellis_come_back(memory: int, shapes: list[tuple[int, ...]]) -> None:
    """Labels that follow a trellis are stored as its steps, and are the same labels again."""
    symbols = follower(shapes, memory)
    streams, header = COMPACT.encode(symbols, shapes)

    assert_equal(COMPACT.decode(streams, header, shapes), symbols)


def follower(shapes: list[tuple[int, ...]], memory: int) -> Symbols:
    """Symbols on a grid, each lane a random path through the trellis."""
    rng = np.random.default_rng(memory)
    multiples = []
    for pieces in segments(shapes):
        for piece in pieces:
            length = trellis.lane_length(piece.positions)
            steps = rng.geometric(0.5, (-(-piece.size // length), length)).astype(np.int32) - 1
            magnitudes = trellis.expanded(steps, memory).reshape(-1)[: piece.size]
            multiples.append(np.where(rng.random(piece.size) < 0.5, -magnitudes, magnitudes))
    flat = np.concatenate(multiples)
    used, labels = np.unique(flat[flat != 0], return_inverse=True)
    return Symbols(flat != 0, labels.astype(np.uint8), used.astype(np.float32) * np.float32(0.01))


def test_a_path_is_found_and_saves_bytes() -> None:
    """Along a path half of the multiples cannot occur, which the file does not pay for."""
    shapes = [(64, 64, 3, 3)]
    symbols = follower(shapes, 3)
    sizes = np.zeros(len(symbols.keep), np.int32)
    sizes[symbols.keep] = np.abs(np.rint(symbols.centroids / np.float32(0.01)).astype(np.int32)[symbols.labels])
    assert memory_of(segments(shapes)[0], sizes) == 3

    streams, _ = COMPACT.encode(symbols, shapes)
    shifted = Symbols(symbols.keep, symbols.labels, symbols.centroids * np.float32(1.1) + np.float32(1e-3))
    blind, _ = COMPACT.encode(shifted, shapes)
    total = sum(len(stream) for stream in streams.values())
    assert total < 0.85 * sum(len(stream) for stream in blind.values())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 5000])
def test_values_that_are_not_quantized_come_back(dtype: type, count: int) -> None:
    """Quantizer none: bit for bit, special values and negative zeros included."""
    values = np.random.default_rng(0).standard_normal(count).astype(dtype)
    values = values.astype(np.float64 if dtype is np.float64 else np.float32)
    values[:5] = [-0.0, np.inf, -np.inf, 1e-30, 0.0][: len(values[:5])]
    keep = np.zeros(3 * count, np.bool_)
    keep[::3] = True
    symbols = Symbols(keep, None, values)

    assert_equal(round_trip(symbols, [(3, count)]), symbols)


def test_the_same_symbols_give_the_same_bytes() -> None:
    """Nothing depends on time, order or chance."""
    symbols = made([(20, 30, 3, 3)], 16, 0.2, 5)
    first, second = (COMPACT.encode(symbols, [(20, 30, 3, 3)])[0] for _ in range(2))
    assert {n: s.tobytes() for n, s in first.items()} == {n: s.tobytes() for n, s in second.items()}


def test_rows_and_columns_of_different_density_save_bytes() -> None:
    """A mask whose zeros follow rows and columns costs less than its entropy as a whole."""
    rng = np.random.default_rng(3)
    rows, columns = np.exp(rng.standard_normal((128, 1))), np.exp(rng.standard_normal((1, 400)))
    chance = np.minimum(0.1 * rows * columns, 1)
    keep = (rng.random(chance.shape) < chance).reshape(-1)
    symbols = Symbols(keep, np.zeros(np.count_nonzero(keep), np.uint8), np.float32([1]))
    streams, _ = COMPACT.encode(symbols, [(128, 400)])

    share = keep.mean()
    entropy = -len(keep) * (share * np.log2(share) + (1 - share) * np.log2(1 - share)) / 8
    assert len(streams["mask"]) < 0.85 * entropy


GOOD_SHAPES = [(24, 16, 3, 3), (40, 33)]
KINDS = [0, 3, 5]


def good(kind: int) -> dict[str, Any]:
    """Streams of each kind."""
    streams = dict(_written(kind))
    assert streams["mask"][0] == kind
    return streams


def _written(kind: int) -> Streams:
    symbols = made(GOOD_SHAPES, 16, 0.3, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_TRY_PLAIN", 2**21 if kind == 0 else -1)
        patch.setattr(encoder, "_WALK", 0 if kind == 5 else 2**40)
        if kind == 0:
            patch.setattr(coded.segment, "write", lambda *_: (b"0" * 9999, b"0" * 9999))
        return COMPACT.encode(symbols, GOOD_SHAPES)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "cut"),
    [*((name, cut) for name in ("mask", "centroids") for cut in (0, 1, 5)), ("labels", 1), ("labels", 5)],
)
def test_cut_streams_are_refused(kind: int, name: str, cut: int) -> None:
    """A stream that ends early, within a word of the coder's, is damage; other cuts are the seal's to find."""
    streams = good(kind)
    streams[name] = streams[name][:cut]
    with pytest.raises(BundleError):
        COMPACT.decode(streams, {}, GOOD_SHAPES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["mask", "labels", "centroids"])
def test_longer_streams_are_refused(kind: int, name: str) -> None:
    """A stream that goes on is damage."""
    streams = good(kind)
    streams[name] = np.append(streams[name], np.uint8(1))
    with pytest.raises(BundleError):
        COMPACT.decode(streams, {}, GOOD_SHAPES)


@pytest.mark.parametrize("kind", KINDS)
@given(st.sampled_from(["mask", "labels", "centroids"]), st.integers(0, 2**20), st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_forged_streams_never_crash(kind: int, name: str, place: int, change: int) -> None:
    """Bytes that no writer made give symbols that fit together, or our error; nothing else ever escapes."""
    streams = good(kind)
    forged = streams[name].copy()
    forged[place % len(forged)] ^= change
    try:
        symbols = COMPACT.decode(streams | {name: forged}, {}, GOOD_SHAPES)
    except BundleError:
        return
    assert len(symbols.keep) == sum(map(math.prod, GOOD_SHAPES))
    assert symbols.labels is not None
    assert len(symbols.labels) == np.count_nonzero(symbols.keep)
    assert int(symbols.labels.max(initial=0)) < max(1, len(symbols.centroids))


@pytest.mark.parametrize("shapes", [[(2**40, 2**10)], [(2**62,)], [(24, 16, 3, 3)], [(25, 16, 3, 3), (40, 33)]])
def test_shapes_of_another_net_are_refused(shapes: list[tuple[int, ...]]) -> None:
    """Shapes that the streams do not fill, of any size, are refused before memory is taken for them."""
    for kind in KINDS:
        with pytest.raises(BundleError):
            COMPACT.decode(good(kind), {}, shapes)


@pytest.mark.parametrize("header", [{"values": "float16"}, {"values": None}, {"other": 1}])
def test_headers_of_something_else_are_refused(header: dict[str, Any]) -> None:
    """The header says whether there are centroids."""
    with pytest.raises(BundleError):
        COMPACT.decode(good(3), header, GOOD_SHAPES)
