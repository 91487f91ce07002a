"""A backup, made and restored by the commands of the documentation, serves every bundle on a fresh machine."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

import cnet
from app.core.blobs import open_blobs
from app.core.db import migrate
from app.core.db.engine import Database
from app.core.settings import Settings
from cnet.client import Client
from tests.api_server import ApiServer
from tests.integration.first_release import JOBS, blobs, write_first_release
from tests.postgres import Cluster
from tests.repository import block_after
from tests.s3 import S3Server

DOCUMENT = "docs/deploy.md"


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder with a short path."""
    made = Path(tempfile.mkdtemp(prefix="cnet-"))
    yield made
    shutil.rmtree(made)


def run(block: str, **variables: str | Path) -> None:
    """Run a block of the documentation in a shell."""
    own = {name: str(value) for name, value in variables.items()}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **own}
    shell = [shutil.which("sh") or "sh", "-eu"]
    done = subprocess.run(
        shell, input=block_after(block, "sh", DOCUMENT), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def served(settings: Settings) -> dict[str, list[str]]:
    """Digests of the bundles of each job, and of the files of uploads, as an API serves them, all of them verified."""
    found = {}
    with closing(ApiServer(settings)) as api:
        api.start()
        with Client(api.url) as client:
            for name, job_id in JOBS.items():
                points = client.results(job_id)["points"] if client.job(job_id).ended else []
                found[name] = [_bundle(client, settings.data_dir, job_id, point["index"]) for point in points]
            for checkpoint in client.checkpoints():
                target = settings.data_dir / "downloaded"
                found[checkpoint.id] = [client.download_checkpoint(checkpoint.id, target), checkpoint["sha256"]]
    return found


def _bundle(client: Client, folder: Path, job_id: str, index: int) -> str:
    path = folder / "bundle.npz"
    client.download(job_id, path, point=index)
    cnet.open_bundle(io.BytesIO(path.read_bytes())).verify()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_backup_of_a_folder_is_restored(folder: Path) -> None:
    """SQLite and local files, copied while an API runs."""
    old, new = Settings(data_dir=folder / "old"), Settings(data_dir=folder / "new")
    write_first_release(old)
    _upgrade(old)
    before = served(old)
    with closing(ApiServer(old)) as api:
        api.start()
        run("the backup of a folder", DATA=old.data_dir, BACKUP=folder / "backup")
    shutil.rmtree(old.data_dir)

    run("the restore of a folder", DATA=new.data_dir, BACKUP=folder / "backup")

    assert served(new) == before
    assert sum(map(len, before.values())) > 4


@pytest.mark.postgres
def test_a_backup_of_a_server_is_restored(folder: Path, postgres: Cluster, shared_s3: S3Server) -> None:
    """PostgreSQL and a bucket, into another database and another bucket."""
    old = Settings(data_dir=folder / "old", database_url=postgres.fresh_database(), **shared_s3.settings())
    new = Settings(data_dir=folder / "new", database_url=postgres.fresh_database(), **shared_s3.settings())
    write_first_release(old)
    _upgrade(old)
    for blob in blobs():
        open_blobs(old).put_file(blob)
    shutil.rmtree(old.data_dir / "blobs")
    before = served(old)
    (folder / "backup").mkdir()
    new.data_dir.mkdir()
    run("the backup of a server", DATABASE=_libpq(old), BACKUP=folder / "backup")
    for blob in open_blobs(old).list():
        assert open_blobs(new).put(io.BytesIO(b"".join(open_blobs(old).read(blob.digest)))) == blob.digest

    url = {"CNET_DATABASE_URL": new.database_url}
    run("the restore of a server", DATABASE=_libpq(new), BACKUP=folder / "backup", **url)

    assert served(new) == before


def _upgrade(settings: Settings) -> None:
    with closing(Database(settings.database)) as database:
        migrate.upgrade(database)


def _libpq(settings: Settings) -> str:
    return make_url(settings.database).set(drivername="postgresql").render_as_string(hide_password=False)
