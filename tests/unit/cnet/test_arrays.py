"""Mapped arrays are read in chunks, and nothing is lost by giving their memory back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet import arrays
from cnet.arrays import chunks, release


def resident(path: Path) -> int:
    """Bytes of the file that are in this process's memory (Linux)."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith(str(path)))
    return 1024 * int(next(line for line in lines[at:] if line.startswith("Rss:")).split()[1])


def test_memory_of_a_mapped_file_is_given_back(tmp_path: Path) -> None:
    """What was read is no longer resident, and reads the same again."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(2**20, dtype=np.float32))
    array = np.load(path, mmap_mode="r")
    total = array.sum(dtype=np.float64)
    before = resident(path)

    release(array)

    assert before >= array.nbytes
    assert resident(path) < before // 4
    assert array.sum(dtype=np.float64) == total


def test_what_could_be_written_to_is_left_alone(tmp_path: Path) -> None:
    """A private copy of a page is the only one there is."""
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(10))
    array = np.load(path, mmap_mode="c")
    array[3] = 7.0

    release(array)

    assert array[3] == 7.0


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (7, 11)])
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_chunks_are_the_array(shape: tuple[int, ...], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All elements in order, none twice, in memory or not."""
    monkeypatch.setattr(arrays, "_HELD", 50)
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)

    parts = list(chunks(array, size))

    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *parts]), array.reshape(-1))
    assert all(len(part) <= size for part in parts)
