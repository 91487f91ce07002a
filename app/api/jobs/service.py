"""What may be done with jobs."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from app.api.backend import Backend
from app.api.http.file_response import Download
from app.api.http.pagination import ID_PATTERN
from app.api.jobs.checks import CheckedSpec, check, estimate, warnings
from app.api.jobs.schemas import JobQuery, JobView, Validation
from app.core.clock import utc_now
from app.core.errors import ConflictError, GoneError, NotFoundError, TooManyError
from app.core.jobs import Job, NewJob
from app.core.jobs.store import JobFilter

_ID = re.compile(ID_PATTERN)


Also = Callable[[Connection, JobView], None]
"""What is done in the transaction that makes a job."""


def submit(backend: Backend, document: Any, owner: str, also: Also) -> JobView:
    """Check a specification and keep the job. The queue is told by ``publish``, after the answer.

    Raises:
        TooManyError: the owner has ``max_active_jobs`` already.
        SpecError and the others of ``checks.check``.
    """
    checked = check(backend, document, owner)
    most = backend.settings.max_active_jobs
    if backend.jobs.count_active(owner) >= most:
        raise TooManyError(f"{most} jobs of yours have not ended yet; that many are taken at a time: wait for one")
    before = backend.jobs.count_queued()
    new = _new(backend, checked, owner)
    job = backend.jobs.create(new, lambda connection, made: also(connection, JobView.of(made, before)))
    return JobView.of(job, before)


def publish(backend: Backend) -> None:
    """Tell the queue of what was submitted. A broker that does not answer is no failure: the reaper sends it later."""
    backend.outbox.publish()


def validate(backend: Backend, document: Any, owner: str) -> Validation:
    """What ``submit`` would say, and what the job would take."""
    checked = check(backend, document, owner)
    queued = backend.jobs.count_queued()
    return Validation(valid=True, estimate=estimate(checked, queued), warnings=warnings(checked))


def get(backend: Backend, job_id: str, owner: str) -> Job:
    """An owner's job. Raises NotFoundError, GoneError."""
    job = backend.jobs.get(job_id, owner) if _ID.fullmatch(job_id) else None
    if job is None:
        raise NotFoundError(f"there is no job {job_id[:60]!r}")
    if job.status.final and job.expires_at is not None and job.expires_at <= utc_now():
        raise GoneError(f"the job {job_id} has expired; its results were removed")
    return job


def show(backend: Backend, job: Job) -> JobView:
    """A job as the contract has it."""
    return JobView.of(job, backend.jobs.queue_position(job))


def find(backend: Backend, owner: str, query: JobQuery) -> list[Job]:
    """One more than a page of an owner's jobs."""
    label = None
    if query.label is not None:
        key, colon, value = query.label.partition(":")
        label = (key, value if colon else None)
    wanted = JobFilter(query.status, query.checkpoint, label)
    return backend.jobs.find(owner, wanted, query.limit + 1, query.after)


def cancel(backend: Backend, job_id: str, owner: str) -> JobView:
    """Ask a job to end. Asking again is no error. Raises ConflictError (``already_ended``)."""
    job = get(backend, job_id, owner)
    asked = backend.lifecycle.request_cancel(job.id)
    if asked is None:
        raise ConflictError(f"the job {job_id} has ended already: it is {get(backend, job_id, owner).status}",
                            code="already_ended")  # fmt: skip
    return show(backend, asked)


def retry(backend: Backend, job_id: str, owner: str, also: Also) -> JobView:
    """A new job with the specification of one that has ended. Raises ConflictError (``not_ended``)."""
    job = get(backend, job_id, owner)
    if not job.status.final:
        raise ConflictError(f"the job {job_id} is still {job.status}: cancel it first", code="not_ended")
    return submit(backend, job.spec, owner, also)


def delete(backend: Backend, job_id: str, owner: str) -> None:
    """Hide a job, and stop it where it has not ended."""
    job = get(backend, job_id, owner)
    backend.lifecycle.request_cancel(job.id)
    backend.jobs.mark_deleted(job.id)


def log(backend: Backend, job_id: str, owner: str) -> Download:
    """The job's log as it is now; empty while it has none."""
    job = get(backend, job_id, owner)
    path = backend.settings.jobs_dir / job.id / "log.txt"
    headers = {"Cache-Control": "no-store"}
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return Download(io.BytesIO(), 0, "text/plain; charset=utf-8", headers=headers)
    return Download(file, path.stat().st_size, "text/plain; charset=utf-8", headers=headers)


def _new(backend: Backend, checked: CheckedSpec, owner: str) -> NewJob:
    spec = checked.spec
    return NewJob(
        owner=owner,
        spec=checked.document(),
        time_limit=spec.time_limit or backend.settings.time_limit_seconds,
        name=spec.name,
        labels=spec.labels,
        checkpoint_id=checked.checkpoint_id,
        dataset_id=checked.dataset.id if checked.dataset else None,
    )
