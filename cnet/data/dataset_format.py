"""What a file format of data sets is, and the registry of all formats."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

from cnet.data.dataset import Dataset
from cnet.data.dataset_file import DatasetFile
from cnet.formats import Notice
from cnet.parts.registry import Part, Registry

Layout = Literal["channels_first", "channels_last"]
"""Where the channels of the images were in the file. In a ``Dataset`` they are always first."""


@dataclass(frozen=True, eq=False)
class DatasetContents:
    """What a file holds.

    Attributes:
        dataset: the samples.
        notices: what the user should know about them.
        layout: where the file has the channels of its images; None where it has no images, or grey ones without an
            axis of channels.
        class_names: the names of the classes, by label; None where the file has none.
    """

    dataset: Dataset
    notices: tuple[Notice, ...] = ()
    layout: Layout | None = None
    class_names: tuple[str, ...] | None = None


class DatasetFormat(Part):
    """A file format of uploaded data sets: how its files are recognized and read.

    Files come from strangers. A reader runs in a child process with limits (``cnet.sandbox``), and still must not
    execute anything that a file holds, nor allocate memory by what a file claims before it checks the claim
    (``DatasetFile.check_claim``). ``cnet.data.input_arrays``, ``target_arrays`` and ``splitting`` turn the arrays of a
    file into splits.
    """

    name: str

    @abstractmethod
    def recognizes(self, file: DatasetFile) -> bool:
        """Whether a file is of this format, judged by its first bytes or, of an archive, the names of its members."""

    @abstractmethod
    def read(self, file: DatasetFile) -> DatasetContents:
        """The samples of a file that this format recognizes.

        Raises:
            DatasetError: the file is damaged or cannot be used; ``code`` is one of those of the HTTP API.
            CheckpointError: the same, by the shared readers of archives.
        """


DATASET_FORMATS: Registry[DatasetFormat] = Registry("data set format", "cnet.data.formats")
"""All data set formats by name."""
