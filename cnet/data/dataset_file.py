"""The uploaded file of a data set: inflated where it is a gzip file, and opened where it is an archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cnet.errors import DatasetError
from cnet.formats import Limits, MappedFile
from cnet.formats.parsing.archive import Archive
from cnet.formats.parsing.gzip_file import inflate_file, is_gzip
from cnet.formats.parsing.member_files import open_archive

DEFAULT_LIMITS = Limits(elements=2**32)
"""The most that a data set may claim where nobody says otherwise."""


@dataclass(frozen=True, eq=False)
class DatasetFile(MappedFile):
    """A file as the formats of data sets see it.

    Attributes:
        limits: the most that the file may claim.
        most_bytes: how many bytes its contents may take, by its size as it was uploaded.
        archive: its members where it is a zip or tar archive; all their names are safe, and none is a link.
    """

    limits: Limits
    most_bytes: int
    archive: Archive | None

    @classmethod
    def open_dataset(cls, path: Path, limits: Limits = DEFAULT_LIMITS) -> DatasetFile:
        """Open a file, which may be compressed with gzip.

        Raises:
            CheckpointError: ``empty_file``, ``truncated``, ``corrupt``, ``unsafe_archive``, ``duplicate_name``,
                ``too_many_elements``.
            OSError: the file cannot be opened.
        """
        file = MappedFile.open(path)
        most_bytes = limits.decoded_bytes(file.size)
        if is_gzip(file.head(2)):
            file = inflate_file(file, most_bytes)
        archive = open_archive(file, limits, most_bytes)
        return cls(file.path, file.size, file.mapped, limits, most_bytes, archive)

    def check_claim(self, elements: int, nbytes: int) -> None:
        """Refuse arrays that are larger than the limits allow. Raises DatasetError (``too_large``)."""
        if elements > self.limits.elements or nbytes > self.most_bytes:
            raise DatasetError(
                f"the arrays have {elements} elements in {nbytes} bytes, and at most {self.limits.elements} elements "
                f"in {self.most_bytes} bytes are accepted. Make the data set smaller.",
                code="too_large",
            )
