"""The .npz file around a bundle: every byte of it follows from a few numbers, and all of it is sealed.

``cnet.bundle`` is the specification. A general zip reader forgives much (unknown flags, dates, bytes between the
members); here the reader builds the records anew from what it read and takes only a file that equals them.
"""

from cnet.bundle.container.reader import Reader, Source
from cnet.bundle.container.records import APART, CHUNK, JOINED, Entry, Form, Packed
from cnet.bundle.container.span import Span, Stored
from cnet.bundle.container.writer import Writer

__all__ = [
    "APART",
    "CHUNK",
    "JOINED",
    "Entry",
    "Form",
    "Packed",
    "Reader",
    "Source",
    "Span",
    "Stored",
    "Writer",
]
