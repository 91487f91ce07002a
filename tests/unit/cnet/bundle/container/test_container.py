"""The sealed file: an ordinary npz in which no byte is free."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from cnet.bundle.container import Packed, Reader, Writer, records
from cnet.errors import BundleError

MASK = np.arange(40, dtype=np.uint8)
LABELS = np.zeros(3000, np.uint16)


def sealed(wide: int = records.WIDE) -> tuple[bytes, dict[str, Packed]]:
    """A file of two members and an empty object for a manifest."""
    file = io.BytesIO()
    writer = Writer(file, wide=wide)
    packed = {"mask": writer.add("mask", "|u1", [MASK]), "labels": writer.add("labels", "<u2", [LABELS])}
    writer.add("manifest", "|u1", [np.frombuffer(b"{}", np.uint8)])
    writer.seal()
    return file.getvalue(), packed


def read_all(content: bytes, packed: dict[str, Packed], wide: int = records.WIDE) -> None:
    """Open and read every member."""
    reader = Reader(content, wide)
    for name, member in packed.items():
        reader.member(name, member)


@pytest.mark.parametrize("wide", [records.WIDE, 0, 60, 200], ids=["narrow", "wide", "wide offsets", "mixed"])
def test_members_come_back_and_are_those_of_numpy_and_zipfile(wide: int) -> None:
    """Our reader, NumPy and zipfile read the same arrays, with and without zip64 fields."""
    content, packed = sealed(wide)
    reader = Reader(content, wide)

    np.testing.assert_array_equal(reader.member("mask", packed["mask"]), MASK)
    np.testing.assert_array_equal(reader.member("labels", packed["labels"]), LABELS)
    assert reader.manifest == b"{}"
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["labels"], LABELS)
        assert arrays.files == ["mask", "labels", "manifest"]


@pytest.mark.parametrize("wide", [records.WIDE, 0], ids=["narrow", "wide"])
def test_every_flipped_bit_is_detected(wide: int) -> None:
    """No bit of the file is free: not in headers, padding of the deflate streams, dates, attributes or seal."""
    content, packed = sealed(wide)
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            with pytest.raises(BundleError):
                read_all(bytes(damaged), packed, wide)


def test_every_truncation_and_all_junk_is_detected() -> None:
    """A file that was cut anywhere, or has bytes before or after it, is refused."""
    content, packed = sealed()
    for length in range(len(content)):
        with pytest.raises(BundleError):
            read_all(content[:length], packed)
    for junk in (b"\0", b"PK", content):
        for changed in (junk + content, content + junk):
            with pytest.raises(BundleError):
                read_all(changed, packed)


def test_a_bomb_is_refused_before_its_bytes_are_made() -> None:
    """Data that inflates to more than its header says ends at that size; a size beyond deflate's reach is refused."""
    content, packed = sealed()
    entry = Reader(content).entries["labels"]
    bomb = Packed("|u1", 10**12, packed["labels"].sha256)

    assert entry.size == packed["labels"].size
    with pytest.raises(BundleError, match="size of labels"):
        Reader(content).member("labels", bomb)


def test_a_member_swapped_for_another_of_the_same_size_is_refused() -> None:
    """The digest ties data to its member."""
    content, packed = sealed()
    other = Packed("|u1", packed["mask"].length, packed["labels"].sha256)

    with pytest.raises(BundleError, match="data of mask"):
        Reader(content).member("mask", other)


def test_npy_headers_are_those_that_numpy_reads() -> None:
    """The header of any length is 128 bytes and NumPy agrees with it."""
    for length in (0, 1, 10**18):
        header = io.BytesIO(records.APART.npy_header("<u2", length))
        assert len(header.getvalue()) == 128
        assert np.lib.format.read_magic(header) == (1, 0)
        assert np.lib.format.read_array_header_1_0(header) == ((length,), False, np.dtype("<u2"))
