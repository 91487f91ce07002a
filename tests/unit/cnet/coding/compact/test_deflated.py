"""Mask and labels deflated: exact in the smallest of the forms, strict about what they read."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.compact.deflated import deflate_network, inflate_network

NON_ZERO = st.integers(-200_000, 200_000).filter(bool)


@given(
    st.lists(st.booleans(), max_size=60), st.lists(NON_ZERO, min_size=60, max_size=60), st.sampled_from([1, 900, 70000])
)
def test_a_network_round_trips(mask: list[bool], labels: list[int], divisor: int) -> None:
    """Labels of four bits, one byte and four bytes."""
    keep = np.array(mask, np.bool_)
    signed = np.array(labels[: int(keep.sum())], np.int32)
    signed = np.where(signed < 0, -(-signed // divisor) - 1, signed // divisor + 1).astype(np.int32)

    found = inflate_network(*map(memoryview, deflate_network(keep, signed)), len(keep))

    np.testing.assert_array_equal(found[0], keep)
    np.testing.assert_array_equal(found[1], signed)


@pytest.mark.parametrize(("largest", "form"), [(7, 0), (100, 1), (1000, 4)])
def test_the_first_byte_names_the_width_of_the_labels(largest: int, form: int) -> None:
    """The narrowest form that holds all labels is used."""
    signed = (np.random.default_rng(0).integers(1, largest + 1, 5000)).astype(np.int32)
    assert deflate_network(np.ones(5000, np.bool_), signed)[1][0] == form


@pytest.mark.parametrize(
    "labels",
    [b"", b"\2\0", b"\1" + zlib.compress(b"\1"), b"\1" + zlib.compress(b"\0\0"), b"\0\1" + zlib.compress(b"\0\0")],
)
def test_labels_of_another_network_are_refused(labels: bytes) -> None:
    """Unknown forms, too few, zeros, too many."""
    mask = zlib.compress(np.packbits([True, True]).tobytes())
    with pytest.raises(ValueError, match=r"labels|deflated"):
        inflate_network(memoryview(mask), memoryview(labels), 2)
