"""Entropy coding under adaptive models: what is encoded is decoded, near the entropy, from its own bytes only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.primitives.entropy_coder import AdaptiveModel, EntropyDecoder, EntropyEncoder


@given(
    st.lists(st.tuples(st.integers(1, 9), st.lists(st.integers(0, 8), max_size=200)), max_size=4),
    st.booleans(),
)
def test_symbols_round_trip(groups: list[tuple[int, list[int]]], long_blocks: bool) -> None:
    """Groups under models of their own, and raw integers between them."""
    encoder = EntropyEncoder()
    given_groups = [(size, np.array(symbols, np.int32) % size) for size, symbols in groups]
    for size, symbols in given_groups:
        encoder.code(AdaptiveModel(size, long_blocks=long_blocks), symbols, len(symbols))
        encoder.raw(symbols * 3000, 17, len(symbols))
    decoder = EntropyDecoder(encoder.finish())
    for size, symbols in given_groups:
        model = AdaptiveModel(size, long_blocks=long_blocks)
        np.testing.assert_array_equal(decoder.code(model, None, len(symbols)), symbols)
        np.testing.assert_array_equal(decoder.raw(None, 17, len(symbols)), symbols * 3000)
    decoder.finish()


def test_a_model_comes_near_the_entropy() -> None:
    """Of symbols whose shares it does not know beforehand."""
    symbols = (np.random.default_rng(0).geometric(0.5, 20_000) - 1).clip(max=15).astype(np.int32)
    shares = np.bincount(symbols) / len(symbols)
    entropy = -len(symbols) * float(np.sum(shares * np.log2(shares, where=shares > 0, out=np.zeros(len(shares))))) / 8
    encoder = EntropyEncoder()
    encoder.code(AdaptiveModel(16), symbols, len(symbols))

    assert len(encoder.finish()) < 1.01 * entropy


def test_a_successor_model_starts_from_earlier_counts() -> None:
    """It then learns faster than the model before it."""
    model = AdaptiveModel(2)
    model.update(np.zeros(5000, np.int32))
    new = model.successor()

    assert new.counts()[0] > 10 * new.counts()[1]
    assert new.counts().sum() < model.counts().sum() / 100


def test_counts_stay_exact_in_float32() -> None:
    """They are halved before their sum exceeds 2^24."""
    model = AdaptiveModel(3)
    model.update(np.zeros(2**20, np.int32))

    assert model.counts().sum() < 2**24
    assert model.counts().min() >= 1


def test_missing_symbols_are_refused() -> None:
    """An encoder needs all that it is told to code."""
    with pytest.raises(ValueError, match="2 of 3"):
        EntropyEncoder().code(AdaptiveModel(4), np.int32([1, 2]), 3)
    with pytest.raises(ValueError, match="none of 3"):
        EntropyEncoder().raw(None, 4, 3)


def test_bytes_of_no_encoder_are_refused() -> None:
    """A last word of zero, parts of words, and what is left over."""
    with pytest.raises(ValueError, match="last word is zero"):
        EntropyDecoder(b"\1\0\0\0" + bytes(4))
    with pytest.raises(ValueError, match="buffer size"):
        EntropyDecoder(b"\1")
    with pytest.raises(ValueError, match="left over"):
        EntropyDecoder(b"\1\0\0\0").finish()
