"""The files of unfinished uploads in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.errors import GoneError
from app.core.uploads import PartialFile, PartialFiles
from app.core.uploads.local_files import LocalPartialFiles


def opened(files: PartialFiles, offset: int) -> PartialFile:
    """The file of an upload, open."""
    file = files.append("up_1", offset, "writer")
    assert file is not None
    return file


def test_bytes_behind_the_offset_are_cut_off(tmp_path: Path) -> None:
    """A killed server may have written more than it counted."""
    files = LocalPartialFiles(tmp_path / "uploads")
    file = opened(files, 0)
    file.write([b"abc", b"def"])
    file.sync()
    file.close()
    file = opened(files, 3)
    file.write([b"XY"])
    file.close()
    assert files.fetch("up_1", 5, [], tmp_path).read_bytes() == b"abcXY"
    with pytest.raises(GoneError):
        files.fetch("up_1", 6, [], tmp_path)


def test_one_request_at_a_time(tmp_path: Path) -> None:
    """The file is locked until it is closed."""
    files = LocalPartialFiles(tmp_path)
    file = opened(files, 0)
    assert files.append("up_1", 0, "writer") is None
    file.close()
    opened(files, 0).close()


def test_lost_bytes_are_noticed(tmp_path: Path) -> None:
    """An upload whose file is shorter than what was counted cannot go on."""
    with pytest.raises(GoneError, match="Upload the file again"):
        LocalPartialFiles(tmp_path).append("up_1", 1, "writer")


def test_deleted_files(tmp_path: Path) -> None:
    """A deleted file is not listed; a second deletion is no error."""
    files = LocalPartialFiles(tmp_path)
    assert list(LocalPartialFiles(tmp_path / "none").ids()) == []
    opened(files, 0).close()
    assert list(files.ids()) == ["up_1"]
    files.delete("up_1")
    files.delete("up_1")
    assert list(files.ids()) == []
