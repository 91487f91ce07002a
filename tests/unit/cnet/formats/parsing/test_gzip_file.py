"""Gzip is inflated, and no further than a limit."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from cnet.errors import CheckpointError
from cnet.formats import MappedFile
from cnet.formats.parsing.gzip_file import inflate, inflate_file, is_gzip

CONTENT = np.random.default_rng(0).integers(0, 9, 3_000_000, np.uint8).tobytes()
PACKED = gzip.compress(CONTENT, 1)


def unpacked(data: bytes, most: int = 2**30) -> bytes:
    """The content, inflated in memory."""
    return inflate(np.frombuffer(data, np.uint8), most).tobytes()


def code(data: bytes, most: int = 2**30) -> str:
    """The code of the refusal."""
    with pytest.raises(CheckpointError) as refused:
        unpacked(data, most)
    return refused.value.code


def test_content_is_inflated(tmp_path: Path) -> None:
    """In memory and into a temporary file, of several members, with zeros after them."""
    (tmp_path / "x").write_bytes(PACKED)
    file = inflate_file(MappedFile.open(tmp_path / "x"), 2**30)

    assert is_gzip(PACKED)
    assert (file.size, file.mapped[:]) == (len(CONTENT), CONTENT)
    assert unpacked(PACKED + gzip.compress(b"more") + bytes(100)) == CONTENT + b"more"


def test_long_runs_are_inflated() -> None:
    """A block of output that takes very little input."""
    assert unpacked(gzip.compress(bytes(50_000_000))) == bytes(50_000_000)


def test_damage_is_refused() -> None:
    """Cut data, changed data, wrong checksums, and anything behind the end."""
    changed = bytearray(PACKED)
    changed[-6] ^= 1

    assert code(PACKED[:-1]) == code(PACKED[:1000]) == code(PACKED[:5]) == "truncated"
    assert code(bytes(changed)) == code(PACKED + b"rest of it") == "corrupt"


def test_a_bomb_is_refused() -> None:
    """As soon as it exceeds the limit."""
    assert code(gzip.compress(bytes(10_000_000)), 9_999_999) == "too_many_elements"


def test_an_empty_content_is_refused(tmp_path: Path) -> None:
    """An empty file cannot be mapped."""
    (tmp_path / "x").write_bytes(gzip.compress(b""))

    with pytest.raises(CheckpointError) as refused:
        inflate_file(MappedFile.open(tmp_path / "x"), 2**30)

    assert refused.value.code == "empty_file"
