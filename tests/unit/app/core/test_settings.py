"""Settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.core.settings import Settings


def test_defaults_are_for_one_machine(tmp_path: Path) -> None:
    """By default all state lies below the data folder, and the server listens on this machine."""
    settings = Settings(data_dir=tmp_path)
    assert settings.database == f"sqlite:///{tmp_path}/cnet.db"
    assert settings.broker == f"redis+socket://{tmp_path}/valkey/valkey.sock"
    assert settings.host == "127.0.0.1"
    for folder in (settings.jobs_dir, settings.scratch_dir):
        assert folder.is_relative_to(tmp_path)


def test_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each field is read from a variable."""
    monkeypatch.setenv("CNET_DATABASE_URL", "postgresql+psycopg://db/cnet")
    monkeypatch.setenv("CNET_MAX_UPLOAD_BYTES", "1000")
    settings = Settings()
    assert (settings.database, settings.max_upload_bytes) == ("postgresql+psycopg://db/cnet", 1000)


def test_variables_of_aws_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own come first; processes that are started get ours."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    settings = Settings()
    assert (settings.blobs_endpoint, settings.blobs_region) == ("http://127.0.0.1:9000", "eu-central-1")
    assert settings.environment()["CNET_BLOBS_ENDPOINT"] == "http://127.0.0.1:9000"
    monkeypatch.setenv("CNET_BLOBS_ENDPOINT", "https://s3.example.org")
    assert Settings().blobs_endpoint == "https://s3.example.org"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_UPLOAD_BYTES", "0"),
        ("BLOBS_URL", "gs://bucket"),
        ("BLOBS_URL", "s3://"),
        ("BLOBS_ENDPOINT", "host:9000"),
        ("PORT", "70000"),
        ("LEASE_SECONDS", "-1"),
        ("MAX_ACTIVE_JOBS", "many"),
    ],
)
def test_values_out_of_bounds_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """A value out of bounds is an error at start."""
    monkeypatch.setenv(f"CNET_{name}", value)
    with pytest.raises(ValidationError):
        Settings()


def test_child_process_gets_equal_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment for a child process gives equal settings there, with an absolute folder."""
    monkeypatch.chdir(tmp_path)
    settings = Settings(data_dir=Path("d"), lease_seconds=1.5, broker_url="redis://x")
    for name, value in settings.environment().items():
        if name.startswith("CNET_"):
            monkeypatch.setenv(name, value)
    child = Settings()
    assert child == settings.model_copy(update={"data_dir": tmp_path / "d"})
    assert settings.environment().items() >= {"PATH": os.environ["PATH"]}.items()


def test_settings_do_not_change() -> None:
    """A field cannot be assigned."""
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]
