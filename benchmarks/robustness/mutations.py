"""Damage for files of every format: bytes, members of archives, and values within JSON.

What only protects against accidents (checksums, lengths before a document, the seal of a bundle) is put right again
most of the time, so that the damage is met by what reads the content, as that of an attacker would be.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib

import numpy as np

from benchmarks.robustness.json_mutations import Random, changed_json
from benchmarks.robustness.sealed_mutations import is_bundle, mutated_bundle

_HOSTILE_NAMES = ("a/../../b", "/etc/x", "..\\x", "x" * 300, "\x00", "é")
_PNG = b"\x89PNG\r\n\x1a\n"
_UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    gzip.BadGzipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
    LookupError,
    EOFError,
)
"""What the readers of archives raise for a file that an earlier change has damaged."""


def mutated(content: bytes, random: Random) -> bytes:
    """The content with one to three changes, in half of all cases with one."""
    for _ in range((1, 1, 2, 3)[int(random.integers(4))]):
        content = _changed(content, random)
    return content


def _changed(content: bytes, random: Random) -> bytes:
    """The content with one change; most of the time within its structure."""
    if random.random() < 0.9:
        try:
            found = _within_structure(content, random)
        except _UNREADABLE:
            found = None
        if found is not None:
            return found
    return changed_bytes(content, random)


def _within_structure(content: bytes, random: Random) -> bytes | None:
    """The content with one change that leaves its container valid; None where it has none that is known."""
    if is_bundle(content):
        return mutated_bundle(content, random, changed_bytes)
    if content[:4] == b"PK\x03\x04":
        return _changed_zip(content, random)
    if content[:2] == b"\x1f\x8b":
        return gzip.compress(_changed(gzip.decompress(content), random), 1, mtime=0)
    if content[257:262] == b"ustar":
        return _changed_tar(content, random)
    if content[:8] == _PNG:
        return _changed_png(content, random)
    if content[8:9] == b"{" and random.random() < 0.6:
        return _changed_safetensors(content, random)
    if content[:1] in (b"{", b"["):
        return changed_json(content, random)
    return _changed_text(content, random) if content[:64].isascii() and b"," in content[:64] else None


def _changed_zip(content: bytes, random: Random) -> bytes | None:
    """A zip archive with one member changed, removed, exchanged or renamed, its checksums correct."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        members = [(info.filename, source.read(info), info.compress_type) for info in source.infolist()]
    if not members:
        return None
    files = _changed_members([(name, inner) for name, inner, _ in members], random)
    kinds = {name: kind for name, _, kind in members}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, inner in files:
            archive.writestr(zipfile.ZipInfo(name), inner, kinds.get(name, zipfile.ZIP_STORED))  # without a time
    return target.getvalue()


def _changed_tar(content: bytes, random: Random) -> bytes | None:
    """A tar archive with one member changed, removed, exchanged, renamed, or made a link or a device."""
    with tarfile.open(fileobj=io.BytesIO(content)) as source:
        members = [(info.name, b"" if (file := source.extractfile(info)) is None else file.read()) for info in source]
    if not members:
        return None
    files, special = _changed_members(members, random), random.random() < 0.1
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, inner in files:
            member = tarfile.TarInfo(name)
            member.size = len(inner)
            if special and random.random() < 0.5:
                member.type = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE][
                    int(random.integers(5))
                ]
                member.linkname, member.size = "../../etc/passwd", 0
            archive.addfile(member, io.BytesIO(inner) if member.size else None)
    return target.getvalue()


def _changed_members(members: list[tuple[str, bytes]], random: Random) -> list[tuple[str, bytes]]:
    """The members of an archive with one change; documents are chosen more often than data."""
    weights = np.array([8.0 if name.endswith((".json", ".pkl", ".npy", ".onnx")) else 1.0 for name, _ in members])
    chosen = int(random.choice(len(members), p=weights / weights.sum()))
    name, inner = members[chosen]
    action, others = random.random(), [*members[:chosen], *members[chosen + 1 :]]
    if action < 0.88:
        changed = [(name, _changed(inner, random))]
    elif action < 0.91:
        changed = []
    elif action < 0.94:
        changed = [(name, members[int(random.integers(len(members)))][1])]
    elif action < 0.96:
        changed = [(name, inner), (name, inner)]
    else:
        hostile = _HOSTILE_NAMES[int(random.integers(len(_HOSTILE_NAMES)))]
        changed = [(hostile if random.random() < 0.7 else name + "x", inner)]
    return [*others[:chosen], *changed, *others[chosen:]]


def _changed_png(content: bytes, random: Random) -> bytes:
    """A PNG image with one chunk changed, its checksum correct (RFC 2083, 3.2)."""
    chunks, place = [], len(_PNG)
    while place + 12 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        chunks.append((kind, content[place + 8 : place + 8 + length]))
        place += 12 + length
    chosen = int(random.integers(len(chunks)))
    kind, data = chunks[chosen]
    chunks[chosen] = (kind, changed_bytes(data, random)[: len(data) + 64])
    return _PNG + b"".join(_png_chunk(kind, data) for kind, data in chunks)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _changed_safetensors(content: bytes, random: Random) -> bytes | None:
    """A safetensors file with its header changed, the length before it correct."""
    length = int.from_bytes(content[:8], "little")
    header = changed_json(content[8 : 8 + length], random)
    return None if header is None else struct.pack("<Q", len(header)) + header + content[8 + length :]


def _changed_text(content: bytes, random: Random) -> bytes:
    """A table of numbers with one to three characters replaced by such as tables have."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        data[int(random.integers(len(data)))] = _CHARACTERS[int(random.integers(len(_CHARACTERS)))]
    return bytes(data)


def changed_bytes(content: bytes, random: Random) -> bytes:
    """Bytes with some overwritten, cut off, left out, doubled or moved."""
    data = bytearray(content)
    if not data:
        return b"\x00"
    action, start = random.random(), int(random.integers(len(data)))
    length = int(min(len(data) - start, random.integers(1, 33)))
    if action < 0.5:
        data[start : start + length] = (
            random.bytes(length) if random.random() < 0.5 else bytes([int(random.integers(256))]) * length
        )
    elif action < 0.6:
        value = _INTEGERS[int(random.integers(len(_INTEGERS)))]
        width = (2, 4, 8)[int(random.integers(3))]
        data[start : start + width] = (
            np.array([value % 2**64], np.uint64).astype(f"{'<' if random.random() < 0.7 else '>'}u{width}").tobytes()
        )
    elif action < 0.7:
        del data[start:]
    elif action < 0.8:
        del data[start : start + length]
    elif action < 0.9:
        data[start:start] = data[start : start + length]
    else:
        data[start] ^= 1 << int(random.integers(8))
    return bytes(data)


_CHARACTERS = b'00112233456789..,,-+eE\n\r" naif;\t'

_INTEGERS = (-1, 0, 1, 127, 128, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**48, 2**63 - 1)
"""Numbers at which lengths and offsets go wrong."""
