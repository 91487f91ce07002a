"""What a file format of checkpoints is, and the registry of all formats.

A format is one class in one file, here or in a plug-in (``cnet.plugins``)::

    @FORMATS.register("mine")
    class Mine(CheckpointFormat):
        summary: ClassVar[str] = "A header of 4 bytes, then one float32 vector."
        source: ClassVar[str] = "our own"
        name: Literal["mine"] = "mine"

        def recognizes(self, file: MappedFile) -> bool:
            return file.head(4) == b"MINE"

        def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
            values = file.array(4, file.size - 4).view("<f4")
            return CheckpointContents({"weight": StoredArray.of("weight", values)})
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from cnet.errors import CnetError
from cnet.formats.parsing.contents import CheckpointContents
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.writing import TensorsToWrite
from cnet.parts.registry import Part, Registry


class CheckpointFormat(Part):
    """A file format of checkpoints: how its files are recognized, read and, where ``writable``, written.

    Files come from strangers. A reader runs in a child process with limits (``cnet.sandbox``), and still must not
    execute anything that a file holds, nor allocate memory by what a file claims before it checks the claim.

    Attributes:
        suffixes: suffixes of file names, lower case with the dot; writing chooses the format by them.
        writable: whether ``write`` is there.
        writing_needs: the package that ``write`` imports and that may be missing; None where there is none.
        takes_template: whether ``write`` can take everything but the weights from another file of the format.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    writable: ClassVar[bool] = False
    writing_needs: ClassVar[str | None] = None
    takes_template: ClassVar[bool] = False

    name: str

    @abstractmethod
    def recognizes(self, file: MappedFile) -> bool:
        """Whether a file is of this format, whole or cut off, judged by its first bytes. Its name is not known."""

    @abstractmethod
    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The contents of a file that this format recognizes. Tensors stay in the file until they are loaded.

        Raises:
            CheckpointError: the file is damaged or cannot be used; ``code`` is one of those of the HTTP API.
        """

    def write(self, path: Path, tensors: TensorsToWrite, template: Path | None = None) -> None:
        """Write tensors to a file. The same tensors give the same bytes.

        Args:
            path: the file, replaced where it exists.
            tensors: what to write.
            template: a file of the format from which all but the weights is taken; only where ``takes_template``.

        Raises:
            CnetError: ``unknown_format`` where the format is not writable; ``too_large`` for the format.
        """
        del path, tensors, template
        raise CnetError(
            f"format {self.name!r}: it can only be read. Write one of: {', '.join(writable_formats())}.",
            code="unknown_format",
        )


FORMATS: Registry[CheckpointFormat] = Registry("checkpoint format", "cnet.formats")
"""All checkpoint formats by name."""


def writable_formats(*, without: str | None = None) -> tuple[str, ...]:
    """Names of the formats that can be written, sorted; less those that need the package ``without`` for it."""
    formats = ((name, FORMATS.get(name)) for name in FORMATS.names())
    return tuple(name for name, each in formats if each.writable and (without is None or each.writing_needs != without))
