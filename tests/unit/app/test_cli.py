"""The command as a whole: its version, and how it says what is wrong."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from app.cli import run
from app.core.db.engine import Database
from app.core.jobs import Jobs, NewJob


def test_version_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """It is printed, and the command ends well."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"cnet {version('cnet')}\n"


@pytest.mark.parametrize("arguments", [[], ["keys"]])
def test_without_a_command_only_the_help_is_printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No empty error message follows the help."""
    assert run(arguments) == 2

    said = capsys.readouterr()
    assert "Usage: cnet" in said.out
    assert said.err == ""


def test_mistakes_of_a_spec_are_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names each mistake already, so that no list of them follows."""
    file = tmp_path / "net.npz"
    file.write_bytes(b"anything: it is not read")

    assert run(["compress", str(file), "-o", str(tmp_path / "out.npz"), "--set", "prune.sparsity=1.5"]) == 2

    assert capsys.readouterr().err.count("prune.sparsity") == 1


@pytest.mark.parametrize("command", [["list"], ["revoke", "key_1"]])
def test_commands_for_keys_need_an_existing_data_folder(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped folder is named in the message, and is not created."""
    assert run(["keys", *command, "--data", str(tmp_path / "typo")]) == 1

    assert "typo" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()


def test_a_key_is_not_created_in_a_folder_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be a key of a server that does not exist."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CNET_DATA_DIR", raising=False)

    assert run(["keys", "create", "--owner", "ann"]) == 1

    assert "--data" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_first_key_says_how_to_take_over_what_was_stored_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``cnet keys adopt`` does it."""
    folder = str(tmp_path / "data")
    assert run(["keys", "create", "--owner", "ann", "--data", folder]) == 0
    assert "adopt" not in capsys.readouterr().err
    database = Database(f"sqlite:///{tmp_path}/data/cnet.db")
    job = Jobs(database).create(NewJob(owner="local", spec={}, time_limit=60))

    assert run(["keys", "create", "--owner", "ann", "--data", folder]) == 0
    assert "cnet keys adopt --owner ann" in capsys.readouterr().err
    assert run(["keys", "adopt", "--owner", "nobody", "--data", folder]) == 2
    assert run(["keys", "adopt", "--owner", "ann", "--data", folder]) == 0

    assert "1 objects" in capsys.readouterr().out
    assert Jobs(database).get(job.id, "ann")
    database.close()


def test_an_interrupted_command_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with the exit code 3 and one line on standard error."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("app.cli.app", interrupted)

    assert run(["ps"]) == 3
    assert capsys.readouterr().err == "interrupted\n"
