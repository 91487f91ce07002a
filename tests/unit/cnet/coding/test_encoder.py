"""The contract of encoders: what a decoder of symbols in memory gives."""

from __future__ import annotations

import numpy as np

from cnet.coding import ENCODERS, DecodedSymbols, SegmentEncoder
from cnet.reconstruction import Dither
from cnet.symbols import Symbols
from tests.unit.cnet.coding.symbols import random_symbols

SHAPES: list[tuple[int, ...]] = [(20, 30)]


def test_decoded_symbols_give_any_slice() -> None:
    """Each slice of w_net is a new array."""
    symbols = random_symbols(SHAPES, 16, 0.4, 1)
    decoder = DecodedSymbols(symbols)
    decoder.verify()

    np.testing.assert_array_equal(decoder.values(slice(7, 90)), symbols.vector()[7:90])
    decoder.values(slice(0, 9))[:] = 9
    np.testing.assert_array_equal(decoder.values(slice(0, 9)), symbols.vector()[:9])
    assert decoder.symbols() is symbols
    assert decoder.centroids is symbols.centroids


def test_unquantized_symbols_have_no_centroids() -> None:
    """Their values are no codebook."""
    assert DecodedSymbols(Symbols(np.ones(2, np.bool_), None, np.float32([1, 2]))).centroids is None


def test_dither_depends_on_the_position() -> None:
    """The decoder subtracts the dither of each weight's position."""
    symbols = random_symbols(SHAPES, 16, 1.0, 1)
    changed = DecodedSymbols(symbols).with_reconstruction(Dither(3, 0.5)).values(slice(0, 600))

    assert 0 < np.max(np.abs(changed - symbols.vector())) < 0.25


def test_every_encoder_says_how_other_tensors_are_packed() -> None:
    """Those of segments pack them, the others store their bytes."""
    for name in ENCODERS.names():
        encoder = ENCODERS.create(name)
        assert (encoder.other_packing is not None) == isinstance(encoder, SegmentEncoder)
    assert ENCODERS.create("compact", other="float16").other_packing == "float16"
