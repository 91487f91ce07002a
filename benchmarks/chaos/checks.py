"""What must hold when all jobs have ended: nothing is lost, nothing is there twice, nothing is left over."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import numpy as np
from safetensors.numpy import load
from sqlalchemy import select

from app.core.blobs import open_blobs
from app.core.blobs.references import delete_unreferenced, digests_in_use
from app.core.db.engine import Database
from app.core.db.tables import events, jobs, outbox, uploads
from app.core.states import FINAL
from app.core.uploads import Uploads, open_partial_files, sweep_uploads
from benchmarks.chaos.clients import Record
from benchmarks.chaos.deployment import Deployment
from benchmarks.chaos.plan import checkpoint
from worker.maintain.retention import Retention
from worker.state import open_states


def check_jobs(database: Database, record: Record) -> None:
    """Every accepted job is there once, has ended once, and equal jobs have given equal bytes."""
    with database.read() as connection:
        rows = {row.id: row for row in connection.execute(select(jobs.c.id, jobs.c.status, jobs.c.lease_until))}
        query = select(events.c.job_id, events.c.data).where(events.c.type == "status")
        ends = Counter(row.job_id for row in connection.execute(query) if row.data["status"] in FINAL)
    assert set(rows) == set(record.accepted.values()), "the jobs in the database are not those that were accepted"
    assert len(rows) == len(record.accepted) == len(record.ended)
    assert all(row.status in FINAL and row.lease_until is None for row in rows.values()), "a job or a lease is left"
    assert dict(ends) == dict.fromkeys(rows, 1), "a job has not ended exactly once"
    different = {content: digests for content, digests in record.digests.items() if len(digests) != 1}
    assert not different, f"equal jobs gave different bundles: {different}"


def check_checkpoints(record: Record, url: str) -> None:
    """Every byte of every acknowledged upload is there: the checkpoints have the tensors that were sent."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=60.0) as client:
        for file, checkpoint_id in record.checkpoints.items():
            stored = load(client.get(f"/v1/checkpoints/{checkpoint_id}/content").raise_for_status().content)
            sent = load(checkpoint(file))
            assert stored.keys() == sent.keys()
            assert all(np.array_equal(stored[name], sent[name]) for name in sent), f"file {file}: other tensors"


def check_store(deployment: Deployment, database: Database) -> int:
    """Every blob has the bytes that its name says, and is needed by a row. Returns how many others were swept.

    A process that is killed between storing a blob and its row leaves one behind. The retention of every worker sweeps
    those that are older than an hour; here the same sweep runs without waiting.
    """
    blobs = open_blobs(deployment.settings)
    used, stored = digests_in_use(database), {blob.digest for blob in blobs.list()}
    assert used <= stored, f"{len(used - stored)} blobs that rows need are missing"
    for digest in stored:
        assert hashlib.sha256(b"".join(blobs.read(digest))).hexdigest() == digest, f"blob {digest}: other bytes"
        delete_unreferenced(database, blobs, digest, datetime.now(UTC))
    assert {blob.digest for blob in blobs.list()} == used
    states = open_states(deployment.settings)
    Retention(deployment.settings, database, blobs, states).remove_states()
    assert states.job_ids() == [], "states of jobs that have ended are left"
    partial_files = open_partial_files(deployment.settings)
    sweep_uploads(Uploads(database, 0.0), partial_files)  # a server was killed before it deleted them
    assert list(partial_files.ids()) == [], "bytes of deleted uploads are left"
    return len(stored - used)


def check_rest(deployment: Deployment, database: Database) -> None:
    """After the end of all programs: no process, no unsent message, no partial upload, no scratch file."""
    assert processes_of(deployment.hosts.folder) == [], "processes are left"
    with database.read() as connection:
        assert connection.execute(select(outbox.c.id)).all() == []
        assert connection.execute(select(uploads.c.id).where(uploads.c.deleted_at.is_(None))).all() == []
    settings = deployment.settings
    for folder in (settings.uploads_dir, settings.scratch_dir):
        assert not folder.exists() or [path.name for path in folder.iterdir()] == [], f"files are left in {folder.name}"


def processes_of(folder: Path) -> list[int]:
    """Ids of the service's processes with a data folder in ``folder``, by their environment."""
    mark, found = f"CNET_DATA_DIR={folder}/".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(each.startswith(mark) for each in (entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
    return found
