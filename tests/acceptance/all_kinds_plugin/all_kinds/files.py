"""A file format of checkpoints, and one of data sets."""

from __future__ import annotations

import json
from typing import ClassVar, Literal

import numpy as np

from cnet.data import DATASET_FORMATS, Dataset, DatasetContents, DatasetFile, DatasetFormat
from cnet.formats import FORMATS, CheckpointContents, CheckpointFormat, Limits, MappedFile, StoredArray

MAGIC = b"LINES"


@FORMATS.register("lines")
class Lines(CheckpointFormat):
    """A line with a mark, then a line of JSON for each tensor: its name and its values, nested as its shape."""

    summary: ClassVar[str] = "One line of JSON for each tensor."
    source: ClassVar[str] = "a test"
    name: Literal["lines"] = "lines"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether the mark is there."""
        return file.head(len(MAGIC)) == MAGIC

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:  # noqa: ARG002
        """All tensors as float32."""
        _, *lines = file.mapped[:].splitlines()
        rows = (json.loads(line) for line in lines)
        tensors = {name: StoredArray.of(name, np.array(values, np.float32)) for name, values in rows}
        return CheckpointContents(tensors)


@DATASET_FORMATS.register("json_images")
class JsonImages(DatasetFormat):
    """One JSON object with the four arrays of a data set."""

    summary: ClassVar[str] = "One JSON object with the four arrays of a data set."
    source: ClassVar[str] = "a test"
    name: Literal["json_images"] = "json_images"

    def recognizes(self, file: DatasetFile) -> bool:
        """Whether the object begins as it must."""
        return file.head(11) == b'{"x_train":'

    def read(self, file: DatasetFile) -> DatasetContents:
        """The images as uint8."""
        found = json.loads(file.mapped[:])
        images = {name: np.array(found[name], np.uint8) for name in ("x_train", "x_test")}
        labels = {name: np.array(found[name], np.int64) for name in ("y_train", "y_test")}
        return DatasetContents(Dataset.of_arrays(**images, **labels))
