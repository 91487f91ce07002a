"""The paper's encoding: packed mask, labels, centroids; exact both ways, and strict on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.symbols import Symbols
from tests.unit.cnet.coding.symbols import assert_equal

NPZ = ENCODERS.create("npz")


@given(st.lists(st.booleans(), max_size=70), st.sampled_from([np.uint8, np.uint16]), st.sampled_from(["f4", "f8"]))
def test_symbols_round_trip(keep: list[bool], label: type, centroid: str) -> None:
    """Any mask and labels survive, of networks whose size is no multiple of eight too."""
    kept = sum(keep)
    symbols = Symbols(np.array(keep, np.bool_), np.arange(kept).astype(label), np.arange(kept + 1.0).astype(centroid))
    streams, header = NPZ.encode(symbols, [(len(keep),)])

    assert_equal(NPZ.decode(streams, header, [(len(keep),)]), symbols)


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        (np.float32([1.5, -0.0, 0.25]), "float8_e4m3fn"),
        (np.float32([1.5, 98304.0]), "bfloat16"),
        (np.float32([1.0009765625]), "float16"),
        (np.float32([1e30, 2.0]), "float32"),
        (np.float32([2**100]), "bfloat16"),
        (np.float64([0.1]), "float64"),
        (np.float64([1e300]), "float64"),
        (np.float32([]), "float8_e4m3fn"),
    ],
)
def test_values_are_stored_in_the_smallest_type_that_holds_them(values: Any, stored: str) -> None:
    """Without a quantizer nothing is lost, and no bytes are spent that the values do not need."""
    symbols = Symbols(np.ones(len(values), np.bool_), None, values)
    streams, header = NPZ.encode(symbols, [(len(values),)])

    assert header == {"values": stored}
    assert_equal(NPZ.decode(streams, header, [(len(values),)]), symbols)


def test_the_mask_is_packed_as_numpy_does() -> None:
    """13 weights take two bytes, first weight in the highest bit."""
    keep = np.zeros(13, np.bool_)
    keep[[0, 9]] = True
    streams, _ = NPZ.encode(Symbols(keep, np.uint8([0, 0]), np.float32([1])), [(13,)])

    assert streams["mask"].tolist() == [0b10000000, 0b01000000]


GOOD: dict[str, Any] = {"mask": np.uint8([0b10100000]), "labels": np.uint8([0, 1]), "centroids": np.float32([1, 2])}


@pytest.mark.parametrize(
    ("change", "header"),
    [
        ({"mask": np.uint8([0b10100001])}, {}),
        ({"mask": np.uint8([0b10000000])}, {}),
        ({"mask": np.uint8([0b10100000, 0])}, {}),
        ({"mask": np.float32([1])}, {}),
        ({"labels": np.uint8([0, 2])}, {}),
        ({"labels": np.float32([0, 1])}, {}),
        ({"centroids": np.uint8([0, 1])}, {}),
        ({"centroids": np.float32([0, np.nan])}, {}),
        ({"extra": np.uint8([])}, {}),
        ({}, {"values": "float16"}),
    ],
)
def test_contradictions_are_refused(change: dict[str, Any], header: dict[str, Any]) -> None:
    """Arrays that do not fit each other are damage, not an index error."""
    with pytest.raises(BundleError):
        NPZ.decode(GOOD | change, header, [(7,)])


@pytest.mark.parametrize("name", ["float64", "int8", None, 3])
def test_values_of_another_type_than_named_are_refused(name: Any) -> None:
    """The header's type is one that the array has."""
    streams = {"mask": np.uint8([0b10000000]), "labels": np.float16([1])}
    with pytest.raises(BundleError):
        NPZ.decode(streams, {"values": name}, [(7,)])
