"""Where segments lie in a stream: what is written is found again, and lengths that do not add up are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.compact.stream_layout import SegmentStream, StreamForm, segment_bounds


class BytesInMemory(bytes):
    """A stream in memory."""

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``."""
        return self[start:stop]


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_segments_are_found(segments: list[bytes]) -> None:
    """Empty ones too, behind the form and the lengths."""
    parts: list[bytes] = []
    stream = SegmentStream(parts.append, bytes([StreamForm.ADAPTIVE]))
    for segment in segments:
        stream.add(segment)
    content = BytesInMemory(stream.head() + b"".join(parts))

    assert [content[bounds] for bounds in segment_bounds(content, 1, len(segments))] == segments


@pytest.mark.parametrize(("content", "count"), [(b"\5abc", 2), (b"abc", 0), (b"\x80", 2), (b"", 3)])
def test_lengths_that_do_not_add_up_are_refused(content: bytes, count: int) -> None:
    """Longer than the stream, shorter, or cut off."""
    with pytest.raises(ValueError, match=r"stream|integer"):
        segment_bounds(BytesInMemory(content), 0, count)


def test_the_forms_are_those_of_the_format() -> None:
    """The first byte of every mask that was ever released."""
    assert {form.name: form.value for form in StreamForm} == {"DEFLATED": 0, "ADAPTIVE": 3, "HUFFMAN": 5}
