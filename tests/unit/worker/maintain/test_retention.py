"""What is deleted, and what stays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.core.blobs import LocalBlobs
from app.core.db.engine import Database
from app.core.idempotency import IdempotencyKeys
from app.core.jobs import End, Job, JobEvents, JobFolder, JobLogs, JobPoints, Jobs, Lifecycle, NewJob, PointRow, Studies
from app.core.jobs.studies import NewStudy
from app.core.settings import Settings
from app.core.states import Status
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles
from app.core.webhooks.deliveries import Deliveries, DeliveryState, Result
from tests.job_logs import log_text
from tests.stored_blobs import unchecked
from worker.maintain.retention import BLOB_SECONDS, SCRATCH_SECONDS, Retention
from worker.run.job_log import JobLog
from worker.state.states import FolderStates

LATER = timedelta(days=30)
MINUTES = timedelta(minutes=2)


@pytest.fixture
def blobs(settings: Settings) -> LocalBlobs:
    """The blobs."""
    return LocalBlobs(settings.data_dir / "blobs")


@pytest.fixture
def clean(settings: Settings, database: Database, blobs: LocalBlobs) -> Callable[..., None]:
    """One round of all steps, as if at another time."""

    def run(later: timedelta = timedelta()) -> None:
        retention = Retention(settings, database, blobs, FolderStates(), lambda: datetime.now(UTC) + later)
        for step in retention.steps().values():
            step()

    return run


@pytest.fixture
def store(blobs: LocalBlobs, tmp_path: Path) -> Callable[[str], str]:
    """Store content, long ago."""

    def put(content: str) -> str:
        source = tmp_path / "source"
        source.write_text(content)
        digest = blobs.put_file(source)
        _age(blobs.root / digest[:2] / digest, BLOB_SECONDS + 1)
        return digest

    return put


def _digests(blobs: LocalBlobs) -> list[str]:
    return [blob.digest for blob in blobs.list()]


def _age(path: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def _checkpoint(database: Database, blob: str, retention_days: float = 0.0) -> UploadedFile:
    objects = UploadedFiles.checkpoints(database, retention_days=retention_days)
    return objects.create(NewUploadedFile("local", "net.pt", blob, 1, {}, blob), unchecked)


def _ended(jobs: Jobs, lifecycle: Lifecycle) -> Job:
    job = jobs.create(NewJob("local", {}, 100))
    lifecycle.claim(job.id, "w", 30)
    lifecycle.finish(job.id, 1, End(Status.SUCCEEDED))
    return job


def test_blobs_that_nothing_refers_to_go(
    clean: Callable[..., None], store: Callable[[str], str], blobs: LocalBlobs, database: Database
) -> None:
    """Those of objects and points stay."""
    kept, left = store("kept"), store("left")
    _checkpoint(database, kept)
    clean()
    assert _digests(blobs) == [kept]
    assert left != kept


def test_programs_expire_unless_a_job_needs_them(
    clean: Callable[..., None], store: Callable[[str], str], blobs: LocalBlobs, database: Database
) -> None:
    """Their blobs stay as long as they do."""
    programs = UploadedFiles.programs(database, retention_days=1)
    new = [NewUploadedFile("local", "net.pt2", name, 1, {}, store(name)) for name in ("a", "b")]
    used, unused = (programs.create(each, unchecked) for each in new)
    Jobs(database).create(NewJob("local", {}, 100, program_id=used.id))
    clean()
    assert len(_digests(blobs)) == 2
    clean(LATER)
    assert _digests(blobs) == [used.blob]
    assert unused.blob != used.blob


def test_a_blob_that_was_just_stored_stays(
    clean: Callable[..., None], store: Callable[[str], str], blobs: LocalBlobs, tmp_path: Path
) -> None:
    """Its row is about to be written; storing again what lies there counts as well."""
    digest = store("again")
    (tmp_path / "source").write_text("again")
    assert blobs.put_file(tmp_path / "source") == digest
    clean()
    assert _digests(blobs) == [digest]


def test_the_blob_of_a_deleted_object_goes_unless_another_has_the_same(
    clean: Callable[..., None], store: Callable[[str], str], blobs: LocalBlobs, database: Database
) -> None:
    """Content is stored once for all who uploaded it."""
    blob = store("shared")
    first, second = _checkpoint(database, blob), _checkpoint(database, blob)
    UploadedFiles.checkpoints(database).mark_deleted(first.id)
    clean()
    assert _digests(blobs) == [blob]
    UploadedFiles.checkpoints(database).mark_deleted(second.id)
    clean()
    assert _digests(blobs) == []


def test_objects_expire_unless_a_job_needs_them(
    clean: Callable[..., None], store: Callable[[str], str], database: Database, jobs: Jobs, lifecycle: Lifecycle
) -> None:
    """They are marked as deleted, and their rows stay."""
    objects = UploadedFiles.checkpoints(database)
    expiring = _checkpoint(database, store("one"), retention_days=1)
    used = _checkpoint(database, store("two"), retention_days=1)
    for_ever = _checkpoint(database, store("three"))
    job = jobs.create(NewJob("local", {}, 100, checkpoint_id=used.id))

    def deleted() -> list[bool]:
        rows = [objects.get(stored.id) for stored in (expiring, used, for_ever)]
        return [row is not None and row.deleted_at is not None for row in rows]

    clean()
    assert deleted() == [False, False, False]
    clean(LATER)
    assert deleted() == [True, False, False]
    lifecycle.request_cancel(job.id)
    clean(LATER)
    assert deleted() == [True, True, False]


def test_everything_of_a_deleted_job_goes(
    clean: Callable[..., None],
    store: Callable[[str], str],
    jobs: Jobs,
    lifecycle: Lifecycle,
    settings: Settings,
    database: Database,
    blobs: LocalBlobs,
) -> None:
    """Folder, events, points and their bundles."""
    job = jobs.create(NewJob("local", {}, 100))
    lifecycle.claim(job.id, "w", 30)
    JobPoints(database).put(job.id, 1, PointRow(0, {}, [], store("bundle")), unchecked)
    lifecycle.finish(job.id, 1, End(Status.SUCCEEDED))
    folder = JobFolder.of(settings.jobs_dir, job.id)
    folder.path.mkdir(parents=True)
    folder.log(1).write_text("log")
    JobLog(JobLogs(database), folder, 1).send()
    clean()
    assert folder.log(1).exists()
    assert len(_digests(blobs)) == 1
    jobs.mark_deleted(job.id)
    clean(MINUTES)
    assert not folder.path.exists()
    assert log_text(database, job.id) == ""
    assert JobEvents(database).after(job.id, 0) == []
    assert JobPoints(database).of_job(job.id) == []
    assert _digests(blobs) == []


def test_a_deleted_job_under_way_is_cancelled_and_keeps_its_files_until_it_has_ended(
    clean: Callable[..., None], running: Job, jobs: Jobs, lifecycle: Lifecycle, settings: Settings
) -> None:
    """Its worker still writes to them."""
    folder = JobFolder.of(settings.jobs_dir, running.id)
    folder.state.mkdir(parents=True)
    jobs.mark_deleted(running.id)
    clean()
    held = lifecycle.get_held(running.id, 1)
    assert held is not None
    assert held.cancel_requested
    assert folder.state.exists()
    lifecycle.finish(running.id, 1, End(Status.CANCELLED))
    clean(MINUTES)
    assert not folder.path.exists()


def test_jobs_expire_after_their_end(clean: Callable[..., None], database: Database, lifecycle: Lifecycle) -> None:
    """Those that wait or run do not."""
    jobs = Jobs(database, retention_days=1)
    ended, waiting = _ended(jobs, lifecycle), jobs.create(NewJob("local", {}, 100))
    clean(LATER)
    assert jobs.get(ended.id) is None
    assert jobs.get(waiting.id) is not None


def test_studies_expire_with_their_last_job(clean: Callable[..., None], database: Database) -> None:
    """A study of which a job still waits stays."""
    studies = Studies(database, retention_days=1)
    new, member = NewStudy("local", None, {}, {}, {}), NewJob("local", {}, 100)
    ended, waiting = (studies.create(new, [member], lambda *_: None)[0] for _ in range(2))
    studies.cancel(ended.id)
    clean(LATER)
    assert studies.get(ended.id, "local") is None
    assert studies.get(waiting.id, "local") is not None


def test_folders_go_when_their_jobs_have_ended(
    clean: Callable[..., None],
    jobs: Jobs,
    lifecycle: Lifecycle,
    running: Job,
    settings: Settings,
    database: Database,
) -> None:
    """A moment later, since their supervisor may still write; what it had not sent of the log is sent first."""
    ended, live = (JobFolder.of(settings.jobs_dir, job.id) for job in (_ended(jobs, lifecycle), running))
    for folder in (ended, live):
        folder.state.mkdir(parents=True)
        folder.log(1).write_text("first\n")
        JobLog(JobLogs(database), folder, 1).send()
        with folder.log(1).open("a") as file:
            file.write("last\n")
    clean()
    assert ended.state.exists()
    clean(MINUTES)
    assert [ended.path.exists(), live.state.exists()] == [False, True]
    assert log_text(database, ended.path.name) == "first\nlast\n"
    assert log_text(database, live.path.name) == "first\n"


def test_logs_of_an_earlier_release_are_sent_to_the_database(
    clean: Callable[..., None], jobs: Jobs, lifecycle: Lifecycle, running: Job, settings: Settings, database: Database
) -> None:
    """Once, whether the job has ended or not."""
    for job in (_ended(jobs, lifecycle), running):
        log = JobFolder.of(settings.jobs_dir, job.id).log(0)
        log.parent.mkdir(parents=True)
        log.write_text("before the upgrade\n")
        for _ in range(2):
            clean()
        assert not log.exists()
        assert log_text(database, job.id) == "before the upgrade\n"


def test_old_scratch_files_go(clean: Callable[..., None], settings: Settings) -> None:
    """A folder is as old as the youngest thing in it."""
    scratch = settings.scratch_dir
    for name in ("old", "young"):
        (scratch / name / "deep").mkdir(parents=True)
        (scratch / name / "deep" / "file").write_text("x")
    (scratch / "file").write_text("x")
    for path in [scratch / "file", *(scratch / "old").rglob("*"), scratch / "old", scratch / "young"]:
        _age(path, SCRATCH_SECONDS + 1)
    clean()
    assert [path.name for path in scratch.iterdir()] == ["young"]


def test_old_answers_to_repeated_requests_go(clean: Callable[..., None], database: Database) -> None:
    """The key may be used anew then."""
    keys = IdempotencyKeys(database)
    keys.begin("local", "key", "a" * 64, 60.0)
    clean(LATER)
    assert keys.begin("local", "key", "b" * 64, 60.0) is not None


def test_messages_of_deleted_jobs_go_once_they_are_sent(
    clean: Callable[..., None], jobs: Jobs, lifecycle: Lifecycle, database: Database
) -> None:
    """One that was not delivered yet is still sent, and one of a job that is not deleted stays."""
    deliveries, spec = Deliveries(database), {"webhook": {"url": "https://hooks.example.org/"}}
    sent, waiting, kept = (jobs.create(NewJob("local", spec, 100)) for _ in range(3))
    for job in (sent, waiting, kept):
        lifecycle.request_cancel(job.id)
        claimed = deliveries.claim_next(20)
        assert claimed is not None
        if job is not waiting:
            deliveries.record(claimed, Result(DeliveryState.DELIVERED, 204))
    for job in (sent, waiting):
        jobs.mark_deleted(job.id)
    clean()
    assert [len(deliveries.of_job(job.id)) for job in (sent, waiting, kept)] == [0, 1, 1]
