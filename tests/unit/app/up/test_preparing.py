"""What ``cnet up`` checks before it starts anything."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.up import address, folder, valkey
from app.up.command import UpOptions, up
from app.up.errors import StartError


def test_a_new_data_folder_is_private(tmp_path: Path) -> None:
    """Mode 0700, and there is room for logs."""
    with folder.held(tmp_path / "new" / "data") as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert (path / "logs").is_dir()


def test_a_data_folder_is_held_by_one(tmp_path: Path) -> None:
    """The second is refused while the first holds it, and not after."""
    with folder.held(tmp_path), pytest.raises(StartError, match="--data"), folder.held(tmp_path):
        pass

    with folder.held(tmp_path) as path:
        assert path == tmp_path


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    """Said in words."""
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(StartError, match="cannot be used: it is a file"), folder.held(file):
        pass


@pytest.mark.parametrize("url", ["nonsense", "nosuch://host/name", "sqlite:////no/such/folder/cnet.db"])
def test_a_database_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """By the setting that it comes from."""
    monkeypatch.setenv("CNET_DATABASE_URL", url)
    with pytest.raises(StartError, match="CNET_DATABASE_URL"):
        up(UpOptions(port=0, data=tmp_path), announce=pytest.fail)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "redis://127.0.0.1:port", "nonsense", "nosuch://host"])
def test_a_broker_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Before anything is started, and not after minutes of trying."""
    monkeypatch.setenv("CNET_BROKER_URL", url)
    with pytest.raises(StartError, match="CNET_BROKER_URL"):
        up(UpOptions(port=0, data=tmp_path), announce=pytest.fail)


def test_port_zero_is_a_free_port() -> None:
    """Its number is in the URL."""
    with address.listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]

        assert address.url("127.0.0.1", listening) == f"http://127.0.0.1:{port}"
        assert address.is_loopback(listening)


def test_all_addresses_are_not_loopback_and_are_reached_by_it() -> None:
    """The health check of our own goes over loopback."""
    with address.listen("0.0.0.0", 0) as listening:  # noqa: S104 - that is the case
        assert not address.is_loopback(listening)
        assert address.reachable(listening) == ("127.0.0.1", listening.getsockname()[1])


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
def test_a_host_that_is_not_ours_is_refused(host: str) -> None:
    """With what to do."""
    with pytest.raises(StartError, match="--host"):
        address.listen(host, 0)


def test_a_port_in_use_is_refused() -> None:
    """With its number."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(StartError, match=str(port)):
            address.listen("127.0.0.1", port)


def test_the_socket_is_in_the_data_folder_where_that_can_be() -> None:
    """So that all of the state is in one place."""
    settings = Settings(data_dir=Path("/srv/cnet"))

    with valkey.socket_path(settings) as path:
        assert path == settings.valkey_socket


@pytest.mark.parametrize("name", ["x" * 120, "with space", "per%cent", "ünïcode"])
def test_a_path_that_no_socket_can_have_gets_another(name: str) -> None:
    """A short one, in a private folder that goes again."""
    with valkey.socket_path(Settings(data_dir=Path("/srv") / name)) as path:
        assert len(str(path).encode()) <= 100
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    assert not path.parent.exists()


def test_the_private_valkey_keeps_what_it_was_told(tmp_path: Path) -> None:
    """An append-only file, no TCP port, a socket for this user alone."""
    settings = Settings(data_dir=tmp_path)

    program = valkey.program(settings, settings.valkey_socket, {})

    config = Path(program.command[1]).read_text().splitlines()
    assert {"port 0", "appendonly yes", "unixsocketperm 700", f'dir "{tmp_path / "valkey"}"'} <= set(config)
