"""A small sealed file for the tests of this folder."""

from __future__ import annotations

import io

import numpy as np

from cnet.bundle.container import ArrayMember, ContainerReader, ContainerWriter
from cnet.bundle.container.zip_records import ZIP64_FROM

MASK = np.arange(40, dtype=np.uint8)
LABELS = np.zeros(3000, np.uint16)


def sealed(zip64_from: int = ZIP64_FROM) -> tuple[bytes, dict[str, ArrayMember]]:
    """A file of two arrays and ``{}`` as its manifest, and what a manifest would say of the arrays."""
    file = io.BytesIO()
    writer = ContainerWriter(file, zip64_from)
    members = {"mask": writer.add("mask", "|u1", [MASK]), "labels": writer.add("labels", "<u2", [LABELS])}
    writer.add("manifest", "|u1", [np.frombuffer(b"{}", np.uint8)])
    writer.seal()
    return file.getvalue(), members


def read_all(content: bytes, members: dict[str, ArrayMember], zip64_from: int = ZIP64_FROM) -> None:
    """Open the file and read every array."""
    reader = ContainerReader(content, zip64_from)
    for name, member in members.items():
        reader.member(name, member)
