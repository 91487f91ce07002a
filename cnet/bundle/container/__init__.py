"""The .npz file around a bundle: a zip archive in which the members determine every other byte.

docs/bundle-format.md specifies it. A general zip reader accepts many files with the same content (other flags, dates,
bytes between the members). This reader builds all zip records again from the sizes and names that it read, and accepts
only a file whose records are equal to these, byte for byte.
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
