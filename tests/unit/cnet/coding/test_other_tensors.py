"""Tensors that are not compressible: packed exactly, or after_packing to float16 where that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.other_tensors import Array, Packing, after_packing, pack_arrays, unpack_arrays

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
def test_tensors_round_trip(shapes: list[tuple[str, int]], seed: int, packing: Packing) -> None:
    """Bit for bit, or as float16 makes them."""
    given_arrays = arrays(shapes, seed)
    content = pack_arrays(given_arrays, packing)
    expected = b"".join(after_packing(name, array, packing).tobytes() for name, array in given_arrays)

    assert unpack_arrays(memoryview(content), shapes, packing).tobytes() == expected


def test_float16_halves_the_bytes_and_leaves_tensors_of_large_values() -> None:
    """A tensor with a value beyond float16 stays as it is."""
    small, large = np.linspace(0, 1, 1000, dtype=np.float32), np.float32([1e6, 1])
    content = pack_arrays([("float32", small), ("float32", large)], "float16")

    assert len(content) < 2100
    assert after_packing("float32", large, "float16") is large
    assert np.max(np.abs(after_packing("float32", small, "float16") - small)) < 2.5e-4


@pytest.mark.parametrize("packing", ["planes", "float16"])
def test_damage_is_a_value_error(packing: Packing) -> None:
    """Cut, longer, and of another size."""
    shapes = [("float32", 300), ("int64", 1)]
    content = pack_arrays(arrays(shapes, 0), packing)
    for bad in (content[:-1], content + b"0", content[:3], b""):
        with pytest.raises((ValueError, AssertionError)):  # what the encoder turns into BundleError
            unpack_arrays(memoryview(bad), shapes, packing)
    with pytest.raises(ValueError, match="too few"):
        unpack_arrays(memoryview(content), [("float32", 2**50), ("int64", 1)], packing)
