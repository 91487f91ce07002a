"""Writing a sealed file: an ordinary npz for every other program."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from cnet.bundle.container import ContainerReader, ContainerWriter
from cnet.bundle.container.zip_records import ZIP64_FROM
from tests.unit.cnet.bundle.container.sealed import LABELS, MASK, sealed


@pytest.mark.parametrize("zip64_from", [ZIP64_FROM, 0, 60, 200], ids=["narrow", "wide", "wide offsets", "mixed"])
def test_numpy_and_zipfile_read_it(zip64_from: int) -> None:
    """With and without zip64 fields."""
    content, _ = sealed(zip64_from)

    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["mask"], MASK)
        np.testing.assert_array_equal(arrays["labels"], LABELS)
        assert arrays.files == ["mask", "labels", "manifest"]


def test_a_resumed_writer_gives_the_bytes_of_one_that_did_not_stop() -> None:
    """The last member can be replaced without writing the others again."""
    expected, _ = sealed()
    reader, file = ContainerReader(expected), io.BytesIO(expected)
    file.truncate(reader.entries["manifest"].offset)

    writer = ContainerWriter.resume(file, [reader.entries["mask"], reader.entries["labels"]])
    writer.add("manifest", "|u1", [np.frombuffer(b"{}", np.uint8)])
    writer.seal()

    assert file.getvalue() == expected


def test_arrays_of_any_layout_are_one_member() -> None:
    """Their bytes follow each other in C order."""
    file = io.BytesIO()
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)

    member = ContainerWriter(file).add("other", "|u1", [array.T, array])

    assert member.length == 12
    assert (
        ContainerWriter(io.BytesIO()).add("other", "|u1", [np.array([0, 3, 1, 4, 2, 5, 0, 1, 2, 3, 4, 5], np.uint8)])
        == member
    )
