"""The wire format of Protocol Buffers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.formats.onnx.protobuf import TruncatedMessageError, read_fields, read_packed_varints
from cnet.formats.onnx.protobuf import encode_bytes as block
from cnet.formats.onnx.protobuf import encode_integer as number
from cnet.formats.onnx.protobuf import encode_varint as varint

NUMBERS = st.integers(0, 2**64 - 1)
FIELDS = st.integers(1, 2**29 - 1)


@pytest.mark.parametrize(
    ("written", "known"),
    [
        (varint(1), "01"),
        (varint(150), "9601"),
        (number(1, 150), "089601"),
        (block(2, b"testing"), "120774657374696e67"),
        (varint(2**64 - 1), "ffffffffffffffffff01"),
    ],
)
def test_known_bytes(written: bytes, known: str) -> None:
    """The examples of the documentation of the format."""
    assert written.hex() == known


@given(st.lists(st.tuples(FIELDS, NUMBERS | st.binary(max_size=300)), max_size=5))
def test_fields_read_back(rows: list[tuple[int, int | bytes]]) -> None:
    """Numbers and values, in order; the raw bytes of all fields are the message."""
    written = [number(key, value) if isinstance(value, int) else block(key, value) for key, value in rows]

    found = list(read_fields(memoryview(b"".join(written))))

    assert [(f.number, f.integer if f.value is None else bytes(f.value)) for f in found] == rows
    assert [bytes(field.raw) for field in found] == written


def test_fields_of_fixed_width_are_skipped() -> None:
    """Fields of 8 and of 4 bytes."""
    message = b"\x09" + b"a" * 8 + b"\x15" + b"b" * 4 + b"\x18\x05"

    found = list(read_fields(memoryview(message)))

    assert [len(field.raw) for field in found] == [9, 5, 2]
    assert found[2].integers == [5]


def test_packed_numbers() -> None:
    """The numbers of a repeated field may be packed in one field."""
    (field,) = read_fields(memoryview(block(1, varint(3) + varint(300))))

    assert field.integers == [3, 300]


@pytest.mark.parametrize(
    "broken",
    ["08", "0a05aa", "0980", "0f01", "0b", "0001", "08" + "ff" * 11, "0affffffffffffffffff01"],
    ids=["no value", "cut block", "cut number", "type 7", "group", "field 0", "endless number", "endless block"],
)
def test_bytes_that_are_not_a_message_are_refused(broken: str) -> None:
    """With a ValueError for every fault."""
    with pytest.raises(ValueError, match="Protocol Buffers"):
        list(read_fields(memoryview(bytes.fromhex(broken))))


@given(st.lists(NUMBERS, max_size=40), st.integers(10, 40))
def test_packed_numbers_are_decoded_in_chunks(numbers: list[int], piece: int) -> None:
    """The result does not depend on the size of the chunks."""
    content = memoryview(b"".join(map(varint, numbers)))

    parts = list(read_packed_varints(content, piece))

    assert [int(value) for part in parts for value in part] == numbers
    assert all(part.dtype == np.uint64 and part.size <= piece for part in parts)


@pytest.mark.parametrize("broken", ["80", "0180", "8080808080808080808001", "ff" * 50], ids=str)
def test_packed_numbers_that_do_not_end_are_refused(broken: str) -> None:
    """At the end of the field, or after 64 bits."""
    with pytest.raises(ValueError, match="does not end"):
        list(read_packed_varints(memoryview(bytes.fromhex(broken))))


@pytest.mark.parametrize("cut", ["08", "0a05aa", "0980", "08ff"])
def test_truncated_messages_are_distinguished_from_other_bytes(cut: str) -> None:
    """They have an error class of their own."""
    with pytest.raises(TruncatedMessageError):
        list(read_fields(memoryview(bytes.fromhex(cut))))
    for other in ("0f01", "0b", "0001", "08" + "ff" * 11):
        with pytest.raises(ValueError, match="not a message") as caught:
            list(read_fields(memoryview(bytes.fromhex(other))))
        assert not isinstance(caught.value, TruncatedMessageError)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(message: bytes) -> None:
    """No other error is raised, and the fields that are read are the whole message."""
    try:
        found = list(read_fields(memoryview(message)))
    except ValueError:
        return
    assert b"".join(field.raw for field in found) == message


def test_a_varint_has_no_content() -> None:
    """Reading it raises a ValueError."""
    (field,) = read_fields(memoryview(number(4, 1)))

    with pytest.raises(ValueError, match="field 4"):
        len(field.content)
