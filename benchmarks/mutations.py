"""Damage for files of every format: bytes, members of zip archives, and values within JSON."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from typing import Any

import numpy as np

Random = np.random.Generator

_NUMBERS = (-1, 0, 1, 2, 3, 7, 12, 255, 2**31 - 1, 2**31, 2**48, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, float("inf"))
_TEXTS = ("", "..", "x" * 5000, "9**9**9", "__import__('os')", "as_int", "\x00", "torch.ops.aten.from_file.default")


def mutated(content: bytes, random: Random) -> bytes:
    """The content with one to three changes. Zip archives stay valid archives most of the time."""
    for _ in range(int(random.integers(1, 4))):
        content = (
            _mutated_zip(content, random)
            if _is_zip(content) and random.random() < 0.9
            else _mutated_text(content, random)
        )
    return content


def _is_zip(content: bytes) -> bool:
    return content[:4] == b"PK\x03\x04" and zipfile.is_zipfile(io.BytesIO(content))


def _mutated_zip(content: bytes, random: Random) -> bytes:
    """A zip archive with one member changed, removed, doubled or renamed, its checksums correct."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as source:
            members = [(info.filename, source.read(info), info.compress_type) for info in source.infolist()]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError, OSError, EOFError):
        return _mutated_bytes(content, random)
    if not members:
        return content
    weights = np.array([8.0 if name.endswith((".json", ".pkl", ".npy")) else 1.0 for name, _, _ in members])
    chosen = int(random.choice(len(members), p=weights / weights.sum()))
    name, inner, kind = members[chosen]
    action = random.random()
    if action < 0.9:
        members[chosen] = (name, _mutated_text(inner, random), kind)
    elif action < 0.94:
        del members[chosen]
    elif action < 0.97:
        other = members[int(random.integers(len(members)))]
        members[chosen] = (name, other[1], kind)
    else:
        members[chosen] = (str(random.choice(["a/../../b", "/etc/x", name + "x", name.upper()])), inner, kind)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for member, data, compression in members:
            archive.writestr(member, data, compression)
    return target.getvalue()


def _mutated_text(content: bytes, random: Random) -> bytes:
    """JSON with one value changed, where the content is JSON; else changed bytes."""
    if content[:1] in b"{[" and content:
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            return _mutated_bytes(content, random)
        places = list(_places(document))
        if places:
            _change(places[int(random.integers(len(places)))], places, random)
            return json.dumps(document).encode()
    return _mutated_bytes(content, random)


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys or indexes."""
    found: list[tuple[Any, Any]] = []
    open_values = [document]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict | list):
            keys = list(value) if isinstance(value, dict) else range(len(value))
            found += [(value, key) for key in keys]
            open_values += [value[key] for key in keys]
    return found


def _change(place: tuple[Any, Any], places: list[tuple[Any, Any]], random: Random) -> None:
    """Replace one value by one of its kind, by one of another kind, or by one from elsewhere; or remove it."""
    holder, key = place
    value, action = holder[key], random.random()
    if action < 0.15:
        del holder[key]
    elif action < 0.4:
        other, other_key = places[int(random.integers(len(places)))]
        if other_key in other if isinstance(other, dict) else other_key < len(other):
            holder[key] = json.loads(json.dumps(other[other_key]))
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int | float):
        near = [value + 1, value - 1, value * 2, -value]
        holder[key] = (
            near[int(random.integers(4))] if random.random() < 0.5 else _NUMBERS[int(random.integers(len(_NUMBERS)))]
        )
    elif isinstance(value, str):
        holder[key] = _TEXTS[int(random.integers(len(_TEXTS)))]
    elif isinstance(value, list) and value:
        holder[key] = value[:-1] if random.random() < 0.5 else [*value, value[0]]
    else:
        holder[key] = None


def _mutated_bytes(content: bytes, random: Random) -> bytes:
    """Bytes with some overwritten, cut off, left out, doubled or moved."""
    data = bytearray(content)
    if not data:
        return b"\x00"
    action, start = random.random(), int(random.integers(len(data)))
    length = int(min(len(data) - start, random.integers(1, 33)))
    if action < 0.6:
        data[start : start + length] = (
            random.bytes(length) if random.random() < 0.5 else bytes([int(random.integers(256))]) * length
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
