"""Changes of a bundle that is sealed again, as an attacker would: digests and seal are those of the changed content."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.robustness.json_mutations import Random, changed_document
from cnet.bundle.container import ArrayMember, ContainerReader, ContainerWriter
from cnet.errors import BundleError

ChangeBytes = Callable[[bytes, Random], bytes]


def is_bundle(content: bytes) -> bool:
    """Whether the content is a bundle whose structure is intact."""
    try:
        ContainerReader(content)
    except BundleError:
        return False
    return True


def mutated_bundle(content: bytes, random: Random, change_bytes: ChangeBytes) -> bytes | None:
    """The bundle with its manifest or its data changed; None where its manifest is not one any more."""
    reader, file = ContainerReader(content), io.BytesIO()
    document = json.loads(reader.manifest)
    writer, in_data = ContainerWriter(file), random.random() < 0.6
    try:
        if "members" in document:
            _add_members(reader, document, writer, random, change_bytes if in_data else None)
        else:
            _add_data(content, document, writer, random, change_bytes if in_data else None)
    except (KeyError, TypeError, ValueError, AttributeError, BundleError):
        return None
    if not in_data:
        changed_document(document, random)
    writer.add("manifest", "|u1", [np.frombuffer(json.dumps(document).encode(), np.uint8)])
    writer.seal()
    return file.getvalue()


def _add_members(
    reader: ContainerReader,
    document: dict[str, Any],
    writer: ContainerWriter,
    random: Random,
    change: ChangeBytes | None,
) -> None:
    """Write the separate members, one of them changed where ``change`` is given, and put their digests right."""
    names = list(document["members"])
    chosen = names[int(random.integers(len(names)))] if change else None
    for name in names:
        array = reader.member(name, ArrayMember(**document["members"][name]))
        if change is not None and name == chosen:
            array = _changed_array(array, random, change)
        member = writer.add(name, array.dtype.str, [array])
        document["members"][name] = {"descr": member.descr, "length": member.length, "digest": member.digest}


def _changed_array(array: npt.NDArray[np.generic], random: Random, change: ChangeBytes) -> npt.NDArray[np.generic]:
    content = change(array.tobytes(), random)
    return np.frombuffer(content[: len(content) // array.itemsize * array.itemsize], array.dtype)


def _add_data(
    content: bytes, document: dict[str, Any], writer: ContainerWriter, random: Random, change: ChangeBytes | None
) -> None:
    """Write the joined member, changed where ``change`` is given, and put its digests right."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        data = arrays["data"].tobytes()
    if change is not None:
        changed = change(data, random)
        data = changed[: len(data)].ljust(len(data), b"\x00") if random.random() < 0.9 else changed
    document["digests"] = list(writer.add_stored("data", len(data), [data]))
