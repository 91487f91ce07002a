"""What a local file is, by its content: a checkpoint, a data set, a program or a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from cnet.data import DATASET_FORMATS
from cnet.data.dataset_file import DatasetFile
from cnet.errors import CnetError
from cnet.formats import is_bundle
from cnet.models.programs import is_program

FileKind = Literal["checkpoint", "dataset", "program", "bundle"]


def kind_of(path: Path) -> FileKind:
    """The kind of a file; a file of no known kind counts as a checkpoint, whose reader says what is wrong with it.

    Raises:
        OSError: the file cannot be read.
    """
    if is_program(path):
        return "program"
    if is_bundle(path):
        return "bundle"
    return "dataset" if _is_dataset(path) else "checkpoint"


def _is_dataset(path: Path) -> bool:
    try:
        file = DatasetFile.open_dataset(path)
        known = [name for name in DATASET_FORMATS.names() if DATASET_FORMATS.create(name).recognizes(file)]
    except CnetError:
        return False
    if known != ["npz"]:
        return bool(known)
    arrays = file.archive.names if file.archive else ()  # a checkpoint may be an npz file as well
    return any(name.partition(".")[0] in ("x", "x_train", "inputs", "inputs_train") for name in arrays)
