"""Chunks cover an array, the memory of mapped files is released, and digests tell arrays apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.arrays import CACHED_CHUNK, chunks, digest, raw_bytes, release_pages, slices, take_masked


def resident(path: Path) -> int:
    """Bytes of the file that are in this process's memory (Linux)."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith(str(path)))
    return 1024 * int(next(line for line in lines[at:] if line.startswith("Rss:")).split()[1])


def test_memory_of_a_mapped_file_is_released(tmp_path: Path) -> None:
    """What was read is no longer resident, and reads the same again."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(2**20, dtype=np.float32))
    array = np.load(path, mmap_mode="r")
    total = array.sum(dtype=np.float64)
    before = resident(path)

    release_pages(array)

    assert before >= array.nbytes
    assert resident(path) < before // 4
    assert array.sum(dtype=np.float64) == total


def test_writeable_arrays_are_left_alone(tmp_path: Path) -> None:
    """A private copy of a page is the only one there is."""
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(10))
    array = np.load(path, mmap_mode="c")
    array[3] = 7.0

    release_pages(array)

    assert array[3] == 7.0


def test_slices_cover_a_range_without_gap_or_overlap() -> None:
    """From any start; the last one may be shorter, and a length of 0 has none."""
    assert list(slices(7, 3)) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert list(slices(4, 2, start=10)) == [slice(10, 12), slice(12, 14)]
    assert list(slices(0)) == []


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (7, 11)])
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_chunks_are_the_array(shape: tuple[int, ...], size: int) -> None:
    """All elements in order, none twice, however often memory is released."""
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)

    parts = list(chunks(array, size, release_interval=50))

    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *parts]), array.reshape(-1))
    assert all(len(part) <= size for part in parts)


@pytest.mark.parametrize("count", [0, 1, CACHED_CHUNK, 200_001])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_masked_values_are_those_that_numpy_takes(count: int, dtype: type) -> None:
    """In any number of chunks."""
    rng = np.random.default_rng(0)
    values, mask = rng.integers(0, 100, count).astype(dtype), rng.random(count) < 0.3

    taken = take_masked(values, mask)

    assert taken.dtype == dtype
    np.testing.assert_array_equal(taken, values[mask])


def test_raw_bytes_are_in_c_order() -> None:
    """Also where the array is not."""
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)

    assert bytes(raw_bytes(array.T)) == bytes([0, 3, 1, 4, 2, 5])


def test_a_digest_tells_type_shape_and_values_apart() -> None:
    """Four arrays with the same bytes, or the same numbers, have four digests."""
    array = np.arange(6, dtype=np.int32)

    found = {digest([array]), digest([array.reshape(2, 3)]), digest([array.view(np.uint32)]), digest([array + 1])}

    assert len(found) == 4
    assert digest([array]) == digest([array.copy()])
