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
    """Those of the examples in the format's documentation."""
    assert written.hex() == known


@given(st.lists(st.tuples(FIELDS, NUMBERS | st.binary(max_size=300)), max_size=5))
def test_fields_read_back(rows: list[tuple[int, int | bytes]]) -> None:
    """Numbers and values, in their order; the raw bytes together are the message."""
    written = [number(key, value) if isinstance(value, int) else block(key, value) for key, value in rows]

    found = list(read_fields(memoryview(b"".join(written))))

    assert [(f.number, f.integer if f.value is None else bytes(f.value)) for f in found] == rows
    assert [bytes(field.raw) for field in found] == written


def test_fixed_widths_are_passed_over() -> None:
    """Fields of 8 and of 4 bytes end where they should."""
    message = b"\x09" + b"a" * 8 + b"\x15" + b"b" * 4 + b"\x18\x05"

    found = list(read_fields(memoryview(message)))

    assert [len(field.raw) for field in found] == [9, 5, 2]
    assert found[2].integers == [5]


def test_packed_numbers() -> None:
    """A repeated field may stand as one block."""
    (field,) = read_fields(memoryview(block(1, varint(3) + varint(300))))

    assert field.integers == [3, 300]


@pytest.mark.parametrize(
    "broken",
    ["08", "0a05aa", "0980", "0f01", "0b", "0001", "08" + "ff" * 11, "0affffffffffffffffff01"],
    ids=["no value", "cut block", "cut number", "type 7", "group", "field 0", "endless number", "endless block"],
)
def test_what_is_no_message_is_refused(broken: str) -> None:
    """With a ValueError, whatever is wrong."""
    with pytest.raises(ValueError, match="Protocol Buffers"):
        list(read_fields(memoryview(bytes.fromhex(broken))))


@given(st.lists(NUMBERS, max_size=40), st.integers(10, 40))
def test_packed_numbers_in_parts(numbers: list[int], piece: int) -> None:
    """As one by one, wherever a part ends."""
    content = memoryview(b"".join(map(varint, numbers)))

    parts = list(read_packed_varints(content, piece))

    assert [int(value) for part in parts for value in part] == numbers
    assert all(part.dtype == np.uint64 and part.size <= piece for part in parts)


@pytest.mark.parametrize("broken", ["80", "0180", "8080808080808080808001", "ff" * 50], ids=str)
def test_packed_numbers_that_do_not_end_are_refused(broken: str) -> None:
    """At the end of the block, or after 64 bits."""
    with pytest.raises(ValueError, match="does not end"):
        list(read_packed_varints(memoryview(bytes.fromhex(broken))))


@pytest.mark.parametrize("cut", ["08", "0a05aa", "0980", "08ff"])
def test_a_message_that_is_cut_off_is_told_from_one_that_is_none(cut: str) -> None:
    """The error says which."""
    with pytest.raises(TruncatedMessageError):
        list(read_fields(memoryview(bytes.fromhex(cut))))
    for other in ("0f01", "0b", "0001", "08" + "ff" * 11):
        with pytest.raises(ValueError, match="not a message") as caught:
            list(read_fields(memoryview(bytes.fromhex(other))))
        assert not isinstance(caught.value, TruncatedMessageError)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(message: bytes) -> None:
    """No other error, and what is read is all there is."""
    try:
        found = list(read_fields(memoryview(message)))
    except ValueError:
        return
    assert b"".join(field.raw for field in found) == message


def test_a_number_has_no_content() -> None:
    """Asking for it is a ValueError, as for all that does not fit."""
    (field,) = read_fields(memoryview(number(4, 1)))

    with pytest.raises(ValueError, match="field 4"):
        len(field.content)
