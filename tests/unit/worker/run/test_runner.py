"""One attempt of one job, in this process: from the stored inputs to the recorded end."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from app.core.blobs import open_blobs
from app.core.db.engine import Database
from app.core.jobs import Job, JobFolder, JobPoints, Jobs, Lifecycle, NewJob
from app.core.settings import Settings
from app.core.uploaded_files import NewUploadedFile, UploadedFiles
from cnet.bundle import Bundle, open_bundle
from cnet.formats.canonical_file import write_canonical
from cnet.models.programs import read_program, write_canonical_program
from cnet.weights import Tensor, Weights
from tests.job_logs import log_text
from tests.small_program import small_program
from tests.stored_blobs import content, unchecked
from worker.run import exit_codes
from worker.run.reporter import StopFlag
from worker.run.runner import Runner, run_attempt


def _checkpoint(settings: Settings, database: Database) -> str:
    values = np.random.default_rng(0).normal(size=(20, 10)).astype(np.float32)
    path = settings.data_dir / "weights.safetensors"
    write_canonical(path, Weights.select([Tensor("w", "float32", values)]))
    blob = open_blobs(settings).put_file(path)
    return UploadedFiles.checkpoints(database).create(NewUploadedFile("local", "w.pt", blob, 1, {}, blob), unchecked).id


def _bundle(settings: Settings, digest: str) -> Bundle:
    return open_bundle(io.BytesIO(content(open_blobs(settings), digest)))


def _claimed(database: Database, checkpoint: str, **spec: Any) -> Job:
    document = {"checkpoint": checkpoint, "prune": {"name": "magnitude", "sparsity": [0.5]}, **spec}
    job = Jobs(database).create(NewJob("local", document, 100, checkpoint_id=checkpoint))
    claimed = Lifecycle(database).claim(job.id, "w", 30)
    assert claimed is not None
    return claimed


def _get(database: Database, job: Job) -> Job:
    found = Jobs(database).get(job.id)
    assert found is not None
    return found


@pytest.fixture
def checkpoint(settings: Settings, database: Database) -> str:
    """A stored checkpoint of one tensor."""
    return _checkpoint(settings, database)


def test_a_job_without_training_succeeds(settings: Settings, database: Database, checkpoint: str) -> None:
    """Its point's bundle is stored and opens; its row says what it ran on."""
    job = _claimed(database, checkpoint)
    assert Runner(settings, database, job, StopFlag()).run() == exit_codes.RECORDED
    done = _get(database, job)
    assert (done.status, done.selected, done.progress) == ("succeeded", 0, 1.0)
    assert done.versions is not None
    assert done.versions["device"] == "cpu"
    (point,) = JobPoints(database).of_job(job.id)
    assert point.data["sha256"] == point.blob
    assert _bundle(settings, point.blob)["w"].shape == (20, 10)


def test_a_program_is_compressed_without_a_checkpoint(settings: Settings, database: Database) -> None:
    """Its bundle holds the tensors of its ``state_dict``."""
    source, canonical = settings.data_dir / "net.pt2", settings.data_dir / "net.safetensors"
    source.write_bytes(small_program())
    archive = read_program(source)
    write_canonical_program(canonical, archive.program, archive.weights)
    blob = open_blobs(settings).put_file(canonical)
    new = NewUploadedFile("local", "net.pt2", blob, 1, {}, blob)
    program = UploadedFiles.programs(database).create(new, unchecked).id
    document = {"architecture": {"program": program}, "prune": {"name": "magnitude", "sparsity": [0.5]}}
    job = Jobs(database).create(NewJob("local", document, 100, program_id=program))
    claimed = Lifecycle(database).claim(job.id, "w", 30)
    assert claimed is not None
    assert Runner(settings, database, claimed, StopFlag()).run() == exit_codes.RECORDED
    assert _get(database, job).status == "succeeded"
    (point,) = JobPoints(database).of_job(job.id)
    bundle = _bundle(settings, point.blob)
    assert list(bundle) == [tensor.name for tensor in archive.state_dict]


def test_a_target_that_no_point_meets_fails_the_job_and_keeps_its_points(
    settings: Settings, database: Database, checkpoint: str
) -> None:
    """The code is the contract's."""
    job = _claimed(database, checkpoint, target={"max_bytes": 1})
    assert Runner(settings, database, job, StopFlag()).run() == exit_codes.RECORDED
    failed = _get(database, job)
    assert (failed.status, failed.error_code) == ("failed", "constraint_not_met")
    assert JobPoints(database).of_job(job.id)


def test_a_run_that_should_stop_records_nothing(settings: Settings, database: Database, checkpoint: str) -> None:
    """Its supervisor does, and knows why it was stopped."""
    job = _claimed(database, checkpoint)
    stop = StopFlag()
    stop.set()
    assert Runner(settings, database, job, stop).run() == exit_codes.STOPPED
    assert _get(database, job).status == "running"
    log = JobFolder.of(settings.jobs_dir, job.id).log(1).read_text()
    assert "stopped; the next attempt resumes from the last saved state" in log


def test_a_run_that_is_fenced_records_nothing(settings: Settings, database: Database, checkpoint: str) -> None:
    """Another attempt has the job."""
    job = _claimed(database, checkpoint)
    Lifecycle(database).recover(job, 2, holder=True)
    second = Lifecycle(database).claim(job.id, "w2", 30)
    assert Runner(settings, database, job, StopFlag()).run() == exit_codes.FENCED
    assert _get(database, job) == second


def test_a_checkpoint_that_is_gone_fails_the_job(settings: Settings, database: Database, checkpoint: str) -> None:
    """The detail says what to do."""
    stored = UploadedFiles.checkpoints(database).get(checkpoint)
    assert stored is not None
    open_blobs(settings).delete(stored.blob)
    job = _claimed(database, checkpoint)
    assert Runner(settings, database, job, StopFlag()).run() == exit_codes.RECORDED
    failed = _get(database, job)
    assert (failed.status, failed.error_code) == ("failed", "gone")
    assert "Upload it again" in (failed.error_detail or "")


def test_an_internal_error_is_in_the_log_and_not_in_the_answer(
    settings: Settings, database: Database, checkpoint: str
) -> None:
    """The user reads a neutral text; the log has the details."""
    job = _claimed(database, checkpoint)
    (settings.jobs_dir / job.id).mkdir(parents=True)
    (settings.jobs_dir / job.id / "state").write_text("a file where a folder has to be")
    assert Runner(settings, database, job, StopFlag()).run() == exit_codes.RECORDED
    failed = _get(database, job)
    assert failed.status == "failed"
    assert str(settings.data_dir) not in (failed.error_detail or "")
    assert "in cnet.pipeline" in log_text(database, job.id)


def test_an_attempt_that_does_not_hold_its_job_ends_at_once(settings: Settings, running: Job) -> None:
    """Another attempt holds the job."""
    assert run_attempt(settings, running.id, 7, StopFlag()) == exit_codes.FENCED
