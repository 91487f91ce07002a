"""Zip records: a directory is built from the numbers that are read from it."""

from __future__ import annotations

import struct

import pytest

from cnet.bundle.container.zip_records import ZIP64_FROM, ZipEntry, directory, parse_directory

ENTRIES = [
    ZipEntry("data", 0x1234, 2**33, 2**33, 0),
    ZipEntry("manifest", 0x5678, 300, 900, 2**33 + 59),
]


@pytest.mark.parametrize("zip64_from", [ZIP64_FROM, 0, 2**40], ids=["mixed", "wide", "as wide as can be"])
def test_a_directory_that_was_parsed_is_built_again(zip64_from: int) -> None:
    """Entries, place and bytes are the same, with and without zip64 fields."""
    entries = (
        ENTRIES if zip64_from <= ZIP64_FROM else [ZipEntry("mask", 1, 20, 40, 0), ZipEntry("manifest", 2, 3, 4, 58)]
    )
    start = entries[-1].data_offset(zip64_from) + entries[-1].packed
    content = directory(entries, start, zip64_from)

    assert parse_directory(content) == (entries, start)


@pytest.mark.parametrize("content", [b"", b"PK\5\6" + bytes(18), bytes(500), b"\xff" * 500])
def test_bytes_without_a_directory_are_refused(content: bytes) -> None:
    """By one of two errors, or with no entries."""
    try:
        entries, _ = parse_directory(content)
    except (ValueError, struct.error):
        return
    assert entries == []


def test_stored_members_have_method_0_and_deflated_ones_8() -> None:
    """The name of a member decides which it is."""
    stored, deflated = (ZipEntry(name, 0, 1, 1, 0).local_header(ZIP64_FROM) for name in ("data", "manifest"))

    assert struct.unpack_from("<H", stored, 8) == (0,)
    assert struct.unpack_from("<H", deflated, 8) == (8,)
