"""What a file format of data sets is, and the registry of all formats."""

from __future__ import annotations

from abc import abstractmethod

from cnet.data.dataset import Dataset
from cnet.formats import Limits, MappedFile, Notice
from cnet.parts.registry import Part, Registry


class DatasetFormat(Part):
    """A file format of uploaded data sets: how its files are recognized and read.

    Files come from strangers. A reader runs in a child process with limits (``cnet.sandbox``), and still must not
    execute anything that a file holds, nor allocate memory by what a file claims before it checks the claim.
    ``cnet.data.labelled_images`` turns the arrays that a file holds into images and labels.
    """

    name: str

    @abstractmethod
    def recognizes(self, file: MappedFile) -> bool:
        """Whether a file is of this format, whole or cut off, judged by its first bytes. Its name is not known."""

    @abstractmethod
    def read(self, file: MappedFile, limits: Limits) -> tuple[Dataset, tuple[Notice, ...]]:
        """The data set of a file that this format recognizes, and what the user should know about it.

        Raises:
            DatasetError: the file is damaged or cannot be used; ``code`` is one of those of the HTTP API.
            CheckpointError: the same, by the shared readers of archives.
        """


DATASET_FORMATS: Registry[DatasetFormat] = Registry("data set format", "cnet.data.formats")
"""All data set formats by name."""
