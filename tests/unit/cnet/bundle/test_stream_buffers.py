"""Byte streams that are written side by side and read one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnet.bundle.stream_buffers import StreamBuffers


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_streams_follow_each_other_in_chunks(tmp_path: Path, size: int) -> None:
    """In the order that is asked for, each with its prefix, whatever the order of writing."""
    with StreamBuffers(tmp_path) as buffers:
        for name, content in (("b", b"bb"), ("a", b"aaa"), ("b", b"BB")):
            buffers.append(name, content)
        buffers.set_prefix("b", b">")
        buffers.set_prefix("c", b"!")
        chunks = list(buffers.chunks(["a", "b", "c", "nothing"], size))
        sizes = [buffers.size(name) for name in ("a", "b", "c", "nothing")]

    assert b"".join(chunks) == b"aaa>bbBB!"
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert sizes == [3, 5, 1, 0]


def test_long_streams_lie_in_files_that_are_removed(tmp_path: Path) -> None:
    """They take no memory, and leave nothing behind."""
    content = bytes(range(256)) * 2**15
    with StreamBuffers(tmp_path) as buffers:
        buffers.append("long", content)

        assert b"".join(buffers.chunks(["long"], 2**20)) == content
    assert list(tmp_path.iterdir()) == []
