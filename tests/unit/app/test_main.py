"""Creating and starting the application."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.core.db import migrate
from app.core.db.engine import Database
from app.core.errors import ForbiddenError, SchemaVersionError
from app.core.queue import MemoryQueue
from app.core.settings import Settings
from app.core.uploads import NewUpload, Quota, Uploads, open_partial_files
from app.main import create_app
from tests.processes import until


def test_start_needs_the_tables(tmp_path: Path) -> None:
    """A server does not start on a database that was never upgraded."""
    app = create_app(Settings(data_dir=tmp_path), MemoryQueue())
    with pytest.raises(SchemaVersionError), TestClient(app):
        pass


def test_start_needs_keys_on_other_addresses(tmp_path: Path) -> None:
    """A server does not start for others without keys."""
    settings = Settings(data_dir=tmp_path, host="0.0.0.0")  # noqa: S104 - that is what is refused
    migrate.upgrade(Database(settings.database))
    with pytest.raises(ForbiddenError), TestClient(create_app(settings, MemoryQueue())):
        pass


def test_a_server_removes_expired_uploads(tmp_path: Path) -> None:
    """Without S3 their files lie in a folder that workers on other machines cannot reach."""
    settings = Settings(data_dir=tmp_path)
    database = Database(settings.database)
    migrate.upgrade(database)
    files = open_partial_files(settings)
    kept, expired = (
        Uploads(database, seconds).create(NewUpload("local", None, None, "", 4), Quota(0, 10)) for seconds in (60, -1)
    )
    for upload_id in (kept.id, expired.id, "up_unknown"):
        settings.uploads_dir.mkdir(exist_ok=True)
        (settings.uploads_dir / upload_id).write_bytes(b"ab")

    with TestClient(create_app(settings, MemoryQueue())):
        until(lambda: list(files.ids()) == [kept.id], what="the sweep")


def test_import_is_light() -> None:
    """Importing the application loads neither PyTorch nor Celery nor scikit-learn."""
    code = "import app.main, sys; print([m for m in ('torch', 'celery', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
