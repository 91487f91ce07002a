"""Reading some bytes of a stored member, checked chunk by chunk."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnet.bundle.container import DIGEST_CHUNK, ByteRange, ContainerReader, ContainerWriter, StoredMember
from cnet.errors import BundleError

DATA = np.random.default_rng(0).bytes(3 * DIGEST_CHUNK + 100)


def stored(data: bytes = DATA) -> tuple[bytes, tuple[str, ...]]:
    """A sealed file with ``data`` in its member ``data``, and the digests of its chunks."""
    file = io.BytesIO()
    writer = ContainerWriter(file)
    chunks = [data[start : start + DIGEST_CHUNK] for start in range(0, len(data), DIGEST_CHUNK)]
    digests = writer.add_stored("data", len(data), chunks)
    writer.add("manifest", "|u1", [np.frombuffer(b"{}", np.uint8)])
    writer.seal()
    return file.getvalue(), digests


def member(content: bytes, digests: tuple[str, ...]) -> StoredMember:
    """The member ``data`` of a sealed file."""
    return StoredMember(ContainerReader(content), "data", len(DATA), digests)


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0), (0, 1), (70, DIGEST_CHUNK + 3), (0, len(DATA)), (len(DATA) - 1, len(DATA))]
)
def test_any_bytes_are_read(start: int, stop: int) -> None:
    """Within a chunk, across chunks, none and all."""
    assert member(*stored()).read(start, stop) == DATA[start:stop]
    assert ByteRange(member(*stored()), start, stop - start).read(0, stop - start) == DATA[start:stop]


def test_damage_is_found_in_its_chunk() -> None:
    """The other chunks can still be read."""
    content, digests = stored()
    damaged = bytearray(content)
    damaged[ContainerReader(content).data_offset("data") + DIGEST_CHUNK + 200] ^= 1
    data = member(bytes(damaged), digests)

    assert data.read(0, 100) == DATA[:100]
    assert data.read(2 * DIGEST_CHUNK, 3 * DIGEST_CHUNK) == DATA[2 * DIGEST_CHUNK : 3 * DIGEST_CHUNK]
    with pytest.raises(BundleError, match="data of data"):
        data.read(DIGEST_CHUNK, DIGEST_CHUNK + 1)
    with pytest.raises(BundleError):
        data.verify()


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 11)])
def test_bytes_outside_are_refused(start: int, stop: int) -> None:
    """Of the member and of a part of it."""
    data = member(*stored())
    with pytest.raises(BundleError, match="outside"):
        ByteRange(data, 100, 10).read(start, stop)
    with pytest.raises(BundleError, match="outside"):
        data.read(start if stop < 11 else 0, stop if stop < 11 else len(DATA) + 1)


def test_digests_of_another_length_are_refused() -> None:
    """Too few, too many, or those of a member of another size."""
    content, digests = stored()
    for wrong in (digests[:-1], (*digests, digests[0]), ()):
        with pytest.raises(BundleError, match="size of data"):
            member(content, wrong)


def test_verify_finds_what_only_other_programs_read() -> None:
    """The .npy header and the CRC."""
    content, digests = stored()
    member(content, digests).verify()
    damaged = bytearray(content)
    damaged[ContainerReader(content).data_offset("data") + 12] ^= 1

    with pytest.raises(BundleError, match="array of data"):
        member(bytes(damaged), digests).verify()
