"""The .npz file around a bundle: a zip archive in which no byte is free.

docs/bundle-format.md specifies it. A general zip reader accepts many files with the same content (other flags, dates,
bytes between the members). This reader builds all records anew from the numbers that it read, and accepts only a file
that equals them.
"""

from cnet.bundle.container.digests import DIGEST_CHUNK
from cnet.bundle.container.members import ArrayMember
from cnet.bundle.container.reader import ContainerReader, Source
from cnet.bundle.container.stored_member import ByteRange, StoredMember
from cnet.bundle.container.writer import ContainerWriter

__all__ = [
    "DIGEST_CHUNK",
    "ArrayMember",
    "ByteRange",
    "ContainerReader",
    "ContainerWriter",
    "Source",
    "StoredMember",
]
