"""The command as a whole: its version, and how it says what is wrong."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from app.cli import run


def test_version_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """It is printed, and the command ends well."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"cnet {version('cnet')}\n"


@pytest.mark.parametrize("arguments", [[], ["keys"]])
def test_without_a_command_help_is_all_that_is_said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No empty message follows it."""
    assert run(arguments) == 2

    said = capsys.readouterr()
    assert "Usage: cnet" in said.out
    assert said.err == ""


def test_what_is_wrong_with_a_spec_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence names each fault already."""
    file = tmp_path / "net.npz"
    file.write_bytes(b"anything: it is not read")

    assert run(["compress", str(file), "-o", str(tmp_path / "out.npz"), "--sparsity", "1.5"]) == 2

    assert capsys.readouterr().err.count("prune.sparsity") == 1


@pytest.mark.parametrize("command", [["list"], ["revoke", "key_1"]])
def test_keys_of_no_service_are_not_made_up(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped folder is named, and nothing is made there."""
    assert run(["keys", *command, "--data", str(tmp_path / "typo")]) == 1

    assert "typo" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()
