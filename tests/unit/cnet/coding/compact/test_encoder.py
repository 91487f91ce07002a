"""The compact encoding: exact both ways for every network, smaller than the paper's, and strict on the way back."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.coding import ENCODERS, Streams, trellis
from cnet.coding.compact.encoder import Compact, CompactLimits
from cnet.coding.compact.lanes import trellis_memory
from cnet.coding.compact.stream_layout import StreamForm
from cnet.coding.segments import segments_of
from cnet.coding.uniform_grid import label_integers
from cnet.errors import BundleError
from cnet.results.measures import entropy
from cnet.symbols import Symbols
from tests.unit.cnet.coding.symbols import (
    CLUSTERS,
    Shapes,
    assert_equal,
    random_symbols,
    tensor_shapes,
    trellis_symbols,
)

COMPACT = ENCODERS.create("compact")
ADAPTIVE = CompactLimits(deflated=-1)
HUFFMAN = CompactLimits(adaptive=0, deflated=-1)


def encoded(symbols: Symbols, shapes: Shapes, limits: CompactLimits) -> Streams:
    """The streams that are written with such limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compact, "limits", limits)
        return COMPACT.encode(symbols, shapes)[0]


def round_trip(symbols: Symbols, shapes: Shapes) -> Symbols:
    """What is decoded from the streams."""
    streams, header = COMPACT.encode(symbols, shapes)
    return COMPACT.decode(streams, header, shapes)


@given(
    tensor_shapes(),
    CLUSTERS,
    st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    st.integers(0, 9),
    st.sampled_from([1e-38, 1, 5e37]),
)
@settings(deadline=None)
def test_symbols_round_trip(shapes: Shapes, clusters: int, density: float, seed: int, scale: float) -> None:
    """Any shapes, mask, labels and size of centroids survive bit for bit."""
    symbols = random_symbols(shapes, clusters, density, seed, scale)
    assert_equal(round_trip(symbols, shapes), symbols)


@pytest.mark.parametrize("limits", [ADAPTIVE, HUFFMAN])
@given(tensor_shapes(), CLUSTERS, st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_symbols_round_trip_through_segments(
    limits: CompactLimits, shapes: Shapes, clusters: int, density: float, seed: int
) -> None:
    """The forms for larger networks hold small ones as well."""
    symbols = random_symbols(shapes, clusters, density, seed)
    assert_equal(COMPACT.decode(encoded(symbols, shapes, limits), {}, shapes), symbols)


def test_a_network_of_some_millions_of_weights_takes_less_than_its_entropy() -> None:
    """It is coded under adaptive models, which follow rows of different sizes."""
    generator = np.random.default_rng(0)
    shapes: Shapes = [(2100, 1000)]
    multiples = np.rint(generator.normal(size=shapes[0]) * generator.uniform(0.5, 4, (2100, 1))).astype(np.int64)
    multiples = multiples.reshape(-1)
    labels, used = label_integers(multiples[multiples != 0])
    symbols = Symbols(multiples != 0, labels, used.astype(np.float32))

    streams, header = COMPACT.encode(symbols, shapes)

    assert sum(map(len, streams.values())) < entropy(np.unique(multiples, return_counts=True)[1]) * len(multiples) / 8
    assert_equal(COMPACT.decode(streams, header, shapes), symbols)


@pytest.mark.parametrize("adaptive", [0, 2**40])
def test_large_tensors_are_divided(adaptive: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that end inside a tensor change nothing."""
    shapes: Shapes = [(40, 3, 3, 3), (7,), (30, 50), (1, 900)]
    symbols = random_symbols(shapes, 40, 0.4, 1)
    monkeypatch.setattr(Compact, "limits", CompactLimits(segment=500, adaptive=adaptive))

    assert len(segments_of(shapes, 500)) > 4
    assert_equal(round_trip(symbols, shapes), symbols)


def test_all_65536_labels_round_trip() -> None:
    """There are 65,536 centroids, each used once."""
    centroids = np.arange(-30000, 35536).astype(np.float32) + np.float32(0.5)
    symbols = Symbols(np.ones(65536, np.bool_), np.arange(65536)[::-1].astype(np.uint16), centroids)
    assert_equal(round_trip(symbols, [(256, 256)]), symbols)


@pytest.mark.parametrize("memory", trellis.MEMORIES)
@pytest.mark.parametrize("shapes", [[(33, 5, 3, 3), (10, 70), (4,)], [(700,)], [(2, 3, 40, 40)]])
def test_paths_through_a_trellis_round_trip(memory: int, shapes: Shapes) -> None:
    """Labels that follow a trellis are stored as its steps, and are the same labels again."""
    symbols = trellis_symbols(shapes, memory)
    streams, header = COMPACT.encode(symbols, shapes)

    assert_equal(COMPACT.decode(streams, header, shapes), symbols)


def test_labels_along_a_trellis_are_recognized_and_take_fewer_bytes() -> None:
    """Along a path half of the multiples cannot occur, which the file does not pay for."""
    shapes: Shapes = [(64, 64, 3, 3)]
    symbols = trellis_symbols(shapes, 3)
    magnitudes = np.zeros(len(symbols.keep), np.int32)
    magnitudes[symbols.keep] = np.abs(np.rint(symbols.centroids / np.float32(0.01)).astype(np.int32)[symbols.labels])
    assert trellis_memory(segments_of(shapes)[0], magnitudes) == 3

    streams, _ = COMPACT.encode(symbols, shapes)
    shifted = Symbols(symbols.keep, symbols.labels, symbols.centroids * np.float32(1.1) + np.float32(1e-3))
    blind, _ = COMPACT.encode(shifted, shapes)
    total = sum(len(stream) for stream in streams.values())
    assert total < 0.85 * sum(len(stream) for stream in blind.values())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 5000])
def test_values_that_are_not_quantized_round_trip(dtype: type, count: int) -> None:
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
    symbols = random_symbols([(20, 30, 3, 3)], 16, 0.2, 5)
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


GOOD_SHAPES: Shapes = [(24, 16, 3, 3), (40, 33)]
FORMS = list(StreamForm)


def good(form: StreamForm) -> dict[str, Any]:
    """Streams of each form."""
    return dict(_good(form))


@cache
def _good(form: StreamForm) -> Streams:
    """The same; a mask and labels that repeat are smaller deflated."""
    symbols = random_symbols(GOOD_SHAPES, 16, 0.3, 7)
    if form is StreamForm.DEFLATED:
        keep = np.arange(len(symbols.keep)) % 3 == 0
        symbols = Symbols(keep, (np.arange(np.count_nonzero(keep)) * 5 % 16).astype(np.uint8), symbols.centroids)
    limits = {StreamForm.ADAPTIVE: ADAPTIVE, StreamForm.HUFFMAN: HUFFMAN}.get(form, CompactLimits())
    streams = encoded(symbols, GOOD_SHAPES, limits)
    assert streams["mask"][0] == form
    return streams


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "cut"),
    [*((name, cut) for name in ("mask", "centroids") for cut in (0, 1, 5)), ("labels", 1), ("labels", 5)],
)
def test_cut_streams_are_refused(form: StreamForm, name: str, cut: int) -> None:
    """A stream that ends early, within a word of the coder's, is damage; other cuts are the seal's to find."""
    streams = good(form)
    streams[name] = streams[name][:cut]
    with pytest.raises(BundleError):
        COMPACT.decode(streams, {}, GOOD_SHAPES)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["mask", "labels", "centroids"])
def test_longer_streams_are_refused(form: StreamForm, name: str) -> None:
    """A stream that goes on is damage."""
    streams = good(form)
    streams[name] = np.append(streams[name], np.uint8(1))
    with pytest.raises(BundleError):
        COMPACT.decode(streams, {}, GOOD_SHAPES)


@pytest.mark.parametrize("form", FORMS)
@given(st.sampled_from(["mask", "labels", "centroids"]), st.integers(0, 2**20), st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_forged_streams_never_crash(form: StreamForm, name: str, place: int, change: int) -> None:
    """Bytes that no writer made give symbols that fit together, or our error; nothing else ever escapes."""
    streams = good(form)
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
def test_shapes_of_another_net_are_refused(shapes: Shapes) -> None:
    """Shapes that the streams do not fill, of any size, are refused before memory is taken for them."""
    for form in FORMS:
        with pytest.raises(BundleError):
            COMPACT.decode(good(form), {}, shapes)


@pytest.mark.parametrize("header", [{"values": "float16"}, {"values": None}, {"other": 1}])
def test_contradictory_headers_are_refused(header: dict[str, Any]) -> None:
    """The header must say whether there are centroids."""
    with pytest.raises(BundleError):
        COMPACT.decode(good(StreamForm.ADAPTIVE), header, GOOD_SHAPES)
