"""Archives that tests of the formats of data sets read."""

from __future__ import annotations

import gzip
import io
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


def picture(value: int = 7, form: str = "PNG", mode: str = "L", size: tuple[int, int] = (6, 4)) -> bytes:
    """An image of one brightness."""
    from PIL import Image

    stream = io.BytesIO()
    Image.new("L", size, value).convert(mode).save(stream, form)
    return stream.getvalue()


def folders(*names: str) -> dict[str, bytes]:
    """Images whose brightness is their number."""
    return {name: picture(number) for number, name in enumerate(names)}


def split_images() -> dict[str, bytes]:
    """Images of two classes, of which one is in the test set. Needs Pillow, as ``picture`` does."""
    return folders("train/cat/0.png", "train/dog/1.png", "train/cat/2.PNG", "test/dog/3.png")
