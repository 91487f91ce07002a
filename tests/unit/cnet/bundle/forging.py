"""Bundles changed and sealed again, as an attacker would."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from cnet.bundle.container import JOINED, Packed, Reader, Writer


def forged(content: bytes, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """The same bundle with manifest and, in version 1, arrays changed."""
    reader, file = Reader(content), io.BytesIO()
    document = json.loads(reader.manifest)
    if document["version"] == 3:
        return forged_joined(content, lambda document: change(document, {}) and None)
    writer = Writer(file)
    arrays = {name: reader.member(name, Packed(*member.values())) for name, member in document["members"].items()}
    change(document, arrays)
    for name, array in arrays.items():
        packed = writer.add(name, array.dtype.str, [array])
        document["members"][name] = {"descr": packed.descr, "length": packed.length, "sha256": packed.sha256}
    writer.add("manifest", "|u1", [np.frombuffer(json.dumps(document).encode(), np.uint8)])
    writer.seal()
    return file.getvalue()


def forged_joined(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A bundle of version 3 with its manifest changed; ``change`` may give its bytes instead."""
    document, file = json.loads(Reader(content).manifest), io.BytesIO()
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        data = arrays["data"].tobytes()
    writer = Writer(file, JOINED)
    writer.add_stored("data", len(data), [data])  # its digests are in the manifest already
    text = change(document)
    text = text if isinstance(text, bytes) else json.dumps(document).encode()
    writer.add("manifest", "|u1", [np.frombuffer(text, np.uint8)])
    writer.seal()
    return file.getvalue()
