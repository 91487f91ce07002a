"""Archives that tests of the formats of data sets read."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from cnet.data.dataset_file import DEFAULT_LIMITS
from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError
from cnet.formats import Limits
from tests.unit.cnet.formats.parsing.test_tar_archive import tar

Kind = Literal["zip", "tar", "tar.gz"]
KINDS: tuple[Kind, ...] = ("zip", "tar", "tar.gz")


def packed(folder: Path, files: Mapping[str, bytes], kind: Kind = "zip") -> Path:
    """An archive of these files."""
    path = folder / f"data.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path
    plain = tar(folder, dict(files))
    if kind == "tar.gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def refusal(path: Path, limits: Limits = DEFAULT_LIMITS) -> DatasetError:
    """The error that reading a file raises."""
    with pytest.raises(DatasetError) as refused:
        read_dataset_file(path, limits)
    return refused.value
