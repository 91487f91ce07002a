"""A file format of data sets is one class in one file, found by the bytes of a file."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cnet.parts.test_plugins import install, python

FORMAT = """
from typing import ClassVar, Literal

import numpy as np

from cnet.data import DATASET_FORMATS, Dataset, DatasetContents, DatasetFile, DatasetFormat
from cnet.formats import Notice


@DATASET_FORMATS.register("mine")
class Mine(DatasetFormat):
    summary: ClassVar[str] = "Four bytes, then images of one pixel."
    source: ClassVar[str] = "a test"
    name: Literal["mine"] = "mine"

    def recognizes(self, file: DatasetFile) -> bool:
        return file.head(4) == b"MINE"

    def read(self, file: DatasetFile) -> DatasetContents:
        x = file.array(4, file.size - 4).reshape(-1, 1, 1, 1)
        y = np.arange(len(x))
        notice = Notice("one_set", "the test set is the training set")
        return DatasetContents(Dataset.of_arrays(x, y, x, y), (notice,))
"""


def test_a_plug_in_adds_a_format(tmp_path: Path) -> None:
    """Its files are read as data sets, with its name and its warnings."""
    install(tmp_path, "mine", FORMAT)
    file = tmp_path / "images.mine"
    file.write_bytes(b"MINE\x01\x02\x03")
    code = f"""
from cnet.data.dataset_reader import read_dataset_file
uploaded = read_dataset_file({str(file)!r})
print(uploaded.format, uploaded.dataset.train.input.reshape(-1).tolist(), [row.code for row in uploaded.warnings])
"""

    assert python(tmp_path, code) == "mine [1, 2, 3] ['one_set']\n"
