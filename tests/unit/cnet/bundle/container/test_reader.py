"""Reading a sealed file: no byte of it is free."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from cnet.bundle.container import ContainerReader
from cnet.bundle.container.zip_records import ZIP64_FROM
from cnet.errors import BundleError
from tests.unit.cnet.bundle.container.sealed import LABELS, MASK, read_all, sealed


@pytest.mark.parametrize("zip64_from", [ZIP64_FROM, 0, 60, 200], ids=["narrow", "wide", "wide offsets", "mixed"])
def test_members_round_trip(zip64_from: int) -> None:
    """With and without zip64 fields."""
    content, members = sealed(zip64_from)
    reader = ContainerReader(content, zip64_from)

    np.testing.assert_array_equal(reader.member("mask", members["mask"]), MASK)
    np.testing.assert_array_equal(reader.member("labels", members["labels"]), LABELS)
    assert reader.manifest == b"{}"


@pytest.mark.parametrize("zip64_from", [ZIP64_FROM, 0], ids=["narrow", "wide"])
def test_every_flipped_bit_is_detected(zip64_from: int) -> None:
    """In headers, padding of the deflate streams, dates, attributes and seal as in the content."""
    content, members = sealed(zip64_from)
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            with pytest.raises(BundleError):
                read_all(bytes(damaged), members, zip64_from)


def test_every_truncation_and_all_added_bytes_are_detected() -> None:
    """A file that was cut anywhere, or has bytes before or after it, is refused."""
    content, members = sealed()
    for length in range(len(content)):
        with pytest.raises(BundleError):
            read_all(content[:length], members)
    for added in (b"\0", b"PK", content):
        for changed in (added + content, content + added):
            with pytest.raises(BundleError):
                read_all(changed, members)


def test_a_size_beyond_what_deflate_can_make_is_refused() -> None:
    """Before memory is taken for it."""
    content, members = sealed()
    with pytest.raises(BundleError, match="size of labels"):
        ContainerReader(content).member("labels", replace(members["labels"], length=10**12))


def test_a_member_of_another_digest_is_refused() -> None:
    """The digest ties the data to the member."""
    content, members = sealed()
    with pytest.raises(BundleError, match="data of mask"):
        ContainerReader(content).member("mask", replace(members["mask"], digest=members["labels"].digest))


def test_an_ordinary_npz_is_refused() -> None:
    """NumPy's own archive has no seal."""
    file = io.BytesIO()
    np.savez_compressed(file, manifest=np.zeros(3, np.uint8))
    with pytest.raises(BundleError, match="not a bundle"):
        ContainerReader(file)
