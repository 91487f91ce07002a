"""Byte planes: numbers of every type come back, in fewer bytes where a plane is regular."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.primitives.byte_planes import pack_planes, unpack_planes


@given(st.binary(max_size=400), st.sampled_from(["u1", "<u2", "<f4", "<f8", "<c8"]))
def test_numbers_round_trip(content: bytes, dtype: str) -> None:
    """Any bits of any type."""
    width = np.dtype(dtype).itemsize
    numbers = np.frombuffer(content[: len(content) // width * width], dtype)

    found = unpack_planes(memoryview(pack_planes(numbers)), len(numbers), np.dtype(dtype))

    assert found.dtype == np.dtype(dtype)
    assert found.tobytes() == numbers.tobytes()


def test_regular_planes_are_small() -> None:
    """A constant plane is two bytes, signs and exponents code well, mantissas stay as they are."""
    rng = np.random.default_rng(0)

    assert len(pack_planes(np.full(1000, 7, "<u4"))) == 8
    assert 3000 < len(pack_planes(rng.normal(size=1000).astype("<f4"))) < 3600


@pytest.mark.parametrize("content", [b"", b"\1", b"\0ab", b"\0abcd", b"\5abcde"])
def test_other_bytes_are_refused(content: bytes) -> None:
    """Cut off, followed by others, or no code."""
    with pytest.raises((ValueError, AssertionError)):
        unpack_planes(memoryview(content), 3, np.dtype(np.uint8))


def test_too_few_bytes_for_the_count_are_refused() -> None:
    """They are refused before memory is allocated for the numbers."""
    with pytest.raises(ValueError, match="too few"):
        unpack_planes(memoryview(b"\1\0"), 2**50, np.dtype(np.uint8))
