"""A mapped file gives views of its bytes and refuses to read beyond its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnet.errors import CheckpointError
from cnet.formats import Limits, MappedFile


def test_bytes_are_read_within_the_file(tmp_path: Path) -> None:
    """The head may be shorter than requested; an array may not."""
    (tmp_path / "file").write_bytes(b"abcdef")
    file = MappedFile.open(tmp_path / "file")

    assert (file.size, file.head(2), file.head(100)) == (6, b"ab", b"abcdef")
    assert bytes(file.array(2, 3)) == b"cde"
    for start, count in ((-1, 2), (4, 3), (0, -1)):
        with pytest.raises(CheckpointError) as caught:
            file.array(start, count)
        assert caught.value.code == "truncated"


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """It cannot be mapped."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(CheckpointError) as caught:
        MappedFile.open(tmp_path / "file")

    assert caught.value.code == "empty_file"


def test_decoded_bytes_grow_with_the_file() -> None:
    """A small file may be decoded to the free bytes, a large one to a multiple of its size."""
    limits = Limits(free_bytes=100, expansion=4)

    assert (limits.decoded_bytes(0), limits.decoded_bytes(50)) == (100, 300)
