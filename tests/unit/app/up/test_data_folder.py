"""The data folder and its lock."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.up.data_folder import locked_data_folder
from app.up.errors import StartError


def test_a_new_data_folder_is_private(tmp_path: Path) -> None:
    """Mode 0700, and there is room for logs."""
    with locked_data_folder(tmp_path / "new" / "data") as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert (path / "logs").is_dir()


def test_a_data_folder_is_held_by_one(tmp_path: Path) -> None:
    """The second is refused while the first holds it, and not after."""
    with locked_data_folder(tmp_path), pytest.raises(StartError, match="--data"), locked_data_folder(tmp_path):
        pass

    with locked_data_folder(tmp_path) as path:
        assert path == tmp_path


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    """Said in words."""
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(StartError, match="cannot be used: it is a file"), locked_data_folder(file):
        pass
