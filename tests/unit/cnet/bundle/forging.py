"""Bundles that are changed and sealed again, as an attacker would."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from cnet.bundle.container import ArrayMember, ContainerReader, ContainerWriter

Document = dict[str, Any]


def forged(content: bytes, change: Callable[[Document], object]) -> bytes:
    """The same bundle with its manifest changed; ``change`` may return the manifest's bytes instead."""
    reader, file = ContainerReader(content), io.BytesIO()
    document = json.loads(reader.manifest)
    writer = ContainerWriter(file)
    if "members" in document:
        for name, member in document["members"].items():
            writer.add(name, member["descr"], [reader.member(name, ArrayMember(**member))])
    else:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            data = arrays["data"].tobytes()
        writer.add_stored("data", len(data), [data])  # its digests are in the manifest already
    text = change(document)
    return _sealed(writer, file, text if isinstance(text, bytes) else json.dumps(document).encode())


def forged_arrays(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same bundle of separate members with its arrays changed, and their digests with them."""
    reader, file = ContainerReader(content), io.BytesIO()
    document = json.loads(reader.manifest)
    arrays = {name: reader.member(name, ArrayMember(**member)) for name, member in document["members"].items()}
    change(arrays)
    writer = ContainerWriter(file)
    for name, array in arrays.items():
        member = writer.add(name, array.dtype.str, [array])
        document["members"][name] = {"descr": member.descr, "length": member.length, "digest": member.digest}
    return _sealed(writer, file, json.dumps(document).encode())


def set_value(path: str, value: Any) -> Callable[[Document], None]:
    """A change of the manifest: the value at ``path``, such as ``tensors.shapes.0``, becomes ``value``."""

    def change(document: Any) -> None:
        *parents, last = path.split(".")
        for key in parents:
            document = document[int(key) if key.isdigit() else key]
        document[int(last) if last.isdigit() else last] = value

    return change


def _sealed(writer: ContainerWriter, file: io.BytesIO, manifest: bytes) -> bytes:
    writer.add("manifest", "|u1", [np.frombuffer(manifest, np.uint8)])
    writer.seal()
    return file.getvalue()
