"""The zip container of a ``torch.export`` archive: its members, checked before any of them is read.

Nothing is unpickled and no member that could be code is opened. The pickled example inputs
(``data/sample_inputs/model.pt``) are not opened either, and need not be there.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError, ProgramError
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.quoting import quoted
from cnet.formats.parsing.zip_archive import DIRECTORY_ERRORS, ZipArchive

MODEL = "models/model.json"
TRAIN_GRAPH = "extra/train.json"
WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"

_MARKS = ("archive_format", "archive_version", "byteorder")
_LARGEST_JSON = 32 * 2**20
_NAME = re.compile(r"[A-Za-z0-9_.+ -]{1,200}(/[A-Za-z0-9_.+-]{1,200}){0,8}")
_EXPORT_AGAIN = "Export the module again with cnet.export_program, or with torch.export.save of torch 2.8 or newer."


class Archive:
    """The members of one archive, without their common top folder.

    Raises:
        ProgramError: ``empty_file``, ``truncated``, ``corrupt``, ``unsafe_archive``, ``not_a_program``,
            ``program_compiled``, ``program_custom_object``.
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        try:
            source = MappedFile.open(path)
            if bytes(source.mapped[:4]) != b"PK\x03\x04":
                raise ProgramError(
                    f"program: the file is not a torch.export archive, which is a zip file. {_EXPORT_AGAIN}",
                    code="not_a_program",
                )
            self._archive = ZipArchive(source, limits)
        except CheckpointError as error:
            raise _as_program_error(error) from error
        if not self._archive.begins_the_file:
            raise ProgramError(
                "program: the file does not begin where its directory says: a part is missing. "
                "Copy or upload it again.",
                code="truncated",
            )
        if self._archive.compressed:
            raise ProgramError(
                f"program: the member {quoted(self._archive.compressed[0])} is compressed, which "
                "torch.export.save never "
                f"does. {_EXPORT_AGAIN}",
                code="unsafe_archive",
            )
        names = self._archive.names
        self._top = _top_folder(names)
        self.names = frozenset(name.removeprefix(self._top) for name in names)
        self.size = source.size
        self._check_members()

    def json(self, name: str) -> Any:
        """The value of a JSON member.

        Raises:
            ProgramError: ``corrupt`` where it is absent, damaged or not JSON, ``too_large`` beyond 32 MB.
        """
        if name not in self.names:
            raise ProgramError(f"program: the archive has no member {name}. {_EXPORT_AGAIN}", code="corrupt")
        if self._archive.size(self._top + name) > _LARGEST_JSON:
            raise ProgramError(
                f"program: {name} is larger than {_LARGEST_JSON >> 20} MB. "
                "Export a smaller graph: one without unrolled loops.",
                code="too_large",
            )
        try:
            return json.loads(self.bytes(name).tobytes())
        except (ValueError, RecursionError) as error:
            raise ProgramError(f"program: {name} is not valid JSON. {_EXPORT_AGAIN}", code="corrupt") from error

    def bytes(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a member, shape (n,): a read-only view of the mapped file. Raises ProgramError."""
        try:
            return self._archive.read(self._top + name)
        except CheckpointError as error:
            raise _as_program_error(error) from error

    def _check_members(self) -> None:
        if MODEL not in self.names:
            raise ProgramError(
                f"program: the zip file holds no {MODEL}; {_kind_of(self.names)}. {_EXPORT_AGAIN}", code="not_a_program"
            )
        compiled = sorted(name for name in self.names if name.startswith("data/aotinductor/"))
        if compiled:
            raise ProgramError(
                f"program: {quoted(compiled[0])} is compiled code, which is never loaded. "
                "Save the exported program itself, not its compiled form.",
                code="program_compiled",
            )
        objects = sorted(name for name in self.names if re.match(r"data/constants/(custom|opaque)_obj_", name))
        if objects:
            raise ProgramError(
                f"program: {quoted(objects[0])} is a custom object, which cannot be read without its code. "
                "Replace it in the module by tensors and numbers, and export again.",
                code="program_custom_object",
            )
        pickles = sorted(
            name for name in self.names if name.endswith((".pt", ".pkl")) and not name.startswith("data/sample_inputs/")
        )
        if pickles:
            raise ProgramError(
                f"program: {quoted(pickles[0])} is pickled, and pickles are never loaded. {_EXPORT_AGAIN}",
                code="program_version",
            )
        self._check_marks()

    def _check_marks(self) -> None:
        """The members that say what kind of archive it is, of which version, and in which byte order."""
        marks = {name: self.bytes(name).tobytes()[:20].strip() for name in _MARKS if name in self.names}
        if marks.get("archive_format") != b"pt2":
            raise ProgramError(
                f"program: the archive is not marked as a pt2 archive. {_EXPORT_AGAIN}", code="not_a_program"
            )
        version = marks.get("archive_version", b"")
        if version != b"0":
            raise ProgramError(
                f"program: archive version {quoted(version)} is not known; version 0 is. {_EXPORT_AGAIN}",
                code="program_version",
            )
        if marks.get("byteorder", b"little") != b"little":
            raise ProgramError(
                "program: the tensors are not stored in little-endian order. Export on a little-endian machine.",
                code="program_version",
            )


def is_program(path: Path) -> bool:
    """Whether a file is a zip archive with the main member of a ``torch.export`` archive. It may still be damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(f"/{MODEL}") for name in archive.namelist())
    except DIRECTORY_ERRORS:
        return False


def _as_program_error(error: CheckpointError) -> ProgramError:
    codes = {"duplicate_name": "unsafe_archive", "too_many_elements": "too_large"}
    return ProgramError(error.detail, code=codes.get(error.code, error.code))


def _top_folder(names: tuple[str, ...]) -> str:
    """The folder that all members share, with its slash."""
    if not names:
        raise ProgramError(f"program: the zip file is empty. {_EXPORT_AGAIN}", code="not_a_program")
    unsafe = [name for name in names if not _NAME.fullmatch(name) or ".." in name.split("/")]
    if unsafe:
        raise ProgramError(
            f"program: the archive has a member named {quoted(unsafe[0])}. {_EXPORT_AGAIN}", code="unsafe_archive"
        )
    tops = {name.partition("/")[0] for name in names}
    if len(tops) != 1 or any("/" not in name for name in names):
        raise ProgramError(
            f"program: the members of the archive are not in one folder; {_kind_of(frozenset(names))}. {_EXPORT_AGAIN}",
            code="not_a_program",
        )
    return f"{tops.pop()}/"


def _kind_of(names: frozenset[str]) -> str:
    """What a zip file that is not a program seems to be, as a clause."""
    bases = {name.rpartition("/")[2] for name in names}
    if "serialized_exported_program.json" in bases:
        return "it was written by torch 2.7 or older"
    if "constants.pkl" in bases or any("/code/" in f"/{name}" for name in names):
        return "it looks like a TorchScript file"
    if "data.pkl" in bases:
        return "it looks like a checkpoint, which is uploaded as a checkpoint"
    return "it is not a torch.export archive"
