"""The private Valkey: its socket and its configuration."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.up import valkey


def test_the_socket_is_in_the_data_folder_if_its_path_is_short_enough() -> None:
    """All state is then in one place."""
    settings = Settings(data_dir=Path("/srv/cnet"))

    with valkey.socket_path(settings) as path:
        assert path == settings.valkey_socket


@pytest.mark.parametrize("name", ["x" * 120, "with space", "per%cent", "ünïcode"])
def test_a_path_too_long_for_a_socket_is_replaced(name: str) -> None:
    """The socket is in a short private folder, which is removed at the end."""
    with valkey.socket_path(Settings(data_dir=Path("/srv") / name)) as path:
        assert len(str(path).encode()) <= 100
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    assert not path.parent.exists()


def test_the_private_valkey_is_persistent_and_private(tmp_path: Path) -> None:
    """It has an append-only file, no TCP port, and a socket for this user alone."""
    settings = Settings(data_dir=tmp_path)

    program = valkey.program(settings, settings.valkey_socket, {})

    config = Path(program.command[1]).read_text().splitlines()
    assert {"port 0", "appendonly yes", "unixsocketperm 700", f'dir "{tmp_path / "valkey"}"'} <= set(config)
