"""The .npz file around a bundle: every byte of it follows from a few numbers, and all of it is sealed.

``cnet.bundle`` is the specification. A general zip reader forgives much (unknown flags, dates, bytes between the
members); here the reader builds the records anew from what it read and takes only a file that equals them.
"""

from cnet.sealed_npz.reader import Reader, Source, file_sha256
from cnet.sealed_npz.records import MEMBERS, Entry, Packed
from cnet.sealed_npz.writer import Writer

__all__ = ["MEMBERS", "Entry", "Packed", "Reader", "Source", "Writer", "file_sha256"]
