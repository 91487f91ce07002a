"""What ``cnet up`` checks before it starts a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.up.command import UpOptions, up
from app.up.errors import StartError


@pytest.mark.parametrize("url", ["postgresql://u@127.0.0.1:1/x", "sqlite:////no/such/folder/cnet.db"])
def test_a_database_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """By the setting that it comes from."""
    monkeypatch.setenv("CNET_DATABASE_URL", url)
    with pytest.raises(StartError, match="CNET_DATABASE_URL"):
        up(UpOptions(port=0, data=tmp_path), announce=pytest.fail)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "redis://127.0.0.1:port"])
def test_a_broker_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Before anything is started, and not after minutes of trying."""
    monkeypatch.setenv("CNET_BROKER_URL", url)
    with pytest.raises(StartError, match="CNET_BROKER_URL"):
        up(UpOptions(port=0, data=tmp_path), announce=pytest.fail)
