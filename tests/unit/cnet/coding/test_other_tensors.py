"""Tensors that are not compressible: packed exactly, or rounded to float16 where that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.other_tensors import Array, Kind, pack_others, rounded, unpack_others

TYPES = {"float32": "<f4", "float64": "<f8", "bfloat16": "<u2", "int64": "<i8", "bool": "|b1", "complex64": "<c8"}


def arrays(shapes: list[tuple[str, int]], seed: int) -> list[tuple[str, Array]]:
    """Random bits of the types and lengths; small numbers for floats."""
    rng = np.random.default_rng(seed)
    found: list[tuple[str, Array]] = []
    for name, count in shapes:
        numbers = rng.normal(size=count) if name.startswith("f") else rng.integers(0, 2, count)
        found.append((name, numbers.astype(TYPES[name])))
    return found


@given(
    st.lists(st.tuples(st.sampled_from(sorted(TYPES)), st.integers(0, 50)), max_size=8),
    st.integers(0, 5),
    st.sampled_from(["planes", "float16"]),
)
def test_tensors_come_back(shapes: list[tuple[str, int]], seed: int, kind: Kind) -> None:
    """Bit for bit, or as float16 makes them."""
    given_arrays = arrays(shapes, seed)
    content = pack_others(given_arrays, kind)
    expected = b"".join(rounded(name, array, kind).tobytes() for name, array in given_arrays)

    assert unpack_others(memoryview(content), shapes, kind).tobytes() == expected


def test_float16_halves_the_bytes_and_says_no_to_large_values() -> None:
    """A tensor that float16 cannot hold stays as it is."""
    small, large = np.linspace(0, 1, 1000, dtype=np.float32), np.float32([1e6, 1])
    content = pack_others([("float32", small), ("float32", large)], "float16")

    assert len(content) < 2100
    assert rounded("float32", large, "float16") is large
    assert np.max(np.abs(rounded("float32", small, "float16") - small)) < 2.5e-4


@pytest.mark.parametrize("kind", ["planes", "float16"])
def test_damage_is_a_value_error(kind: Kind) -> None:
    """Cut, longer, and of another size."""
    shapes = [("float32", 300), ("int64", 1)]
    content = pack_others(arrays(shapes, 0), kind)
    for bad in (content[:-1], content + b"0", content[:3], b""):
        with pytest.raises((ValueError, AssertionError)):  # what the encoder turns into BundleError
            unpack_others(memoryview(bad), shapes, kind)
    with pytest.raises(ValueError, match="too few bytes"):
        unpack_others(memoryview(content), [("float32", 2**50), ("int64", 1)], kind)
