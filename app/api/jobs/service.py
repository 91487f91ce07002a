"""The operations on jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.http.file_response import Download
from app.api.http.pagination import ID_PATTERN, owned_rows
from app.api.jobs.checks import CheckedSpec, check, estimate, warnings
from app.api.jobs.expectation import with_expectation
from app.api.jobs.placement import queue_of, reason_to_wait, waits_in_vain
from app.api.jobs.schemas import JobQuery, JobView, Validation
from app.core.clock import utc_now
from app.core.errors import ConflictError, GoneError, NotFoundError, TooManyError
from app.core.jobs import Job, NewJob
from app.core.jobs.store import JobFilter
from app.core.jobs.waiting import position_of
from app.core.ownership import OwnerFilter
from app.core.telemetry.logs import get_logger

logger = get_logger(__name__)

_ID = re.compile(ID_PATTERN)


WithinTransaction = Callable[[Connection, JobView], None]
"""Called in the transaction that creates a job, with its connection and the job."""


def submit(backend: Backend, document: Any, principal: Principal, also: WithinTransaction) -> JobView:
    """Check a specification and store the job. ``publish`` sends it to the queue, after the answer.

    Args:
        backend: where the job is stored.
        document: the specification as parsed JSON.
        principal: who sent the request; the job is theirs.
        also: called in the transaction that creates the job.

    Raises:
        TooManyError: ``max_active_jobs`` jobs of the owner have not ended.
        SpecError, NotFoundError, GoneError, ArchitectureMismatchError, DatasetError, ProgramError: as ``checks.check``.
    """
    checked = check(backend, document, principal.owner_filter)
    check_active(backend, principal.owner, 1)
    views: list[JobView] = []

    def store_answer(connection: Connection, made: Job) -> None:
        views.append(_view(backend, made, position_of(connection, made)))
        also(connection, views[0])

    made = backend.jobs.create(new_job(backend, checked, principal.owner), store_answer)
    logger.info("job queued", job_id=made.id, queue=made.queue)
    return views[0]


def check_active(backend: Backend, owner: str, more: int) -> None:
    """Check that an owner may submit so many ``more`` jobs. Raises TooManyError."""
    most, active = backend.settings.max_active_jobs, backend.jobs.count_active(owner)
    if active + more > most:
        raise TooManyError(
            f"jobs: you have {active} that have not ended, and the limit is {most}, so {more} more are too many. Wait "
            "for some of them or cancel some."
        )


def publish(backend: Backend) -> None:
    """Send submitted jobs to the queue. Where the broker does not answer, the reaper sends them later."""
    backend.outbox.publish()


def validate(backend: Backend, document: Any, principal: Principal) -> Validation:
    """Check a specification as ``submit`` does, and estimate what the job would need."""
    checked = check(backend, document, principal.owner_filter)
    new = new_job(backend, checked, principal.owner)
    alive = backend.live_workers.facts()
    in_vain = waits_in_vain(new.queue, new.memory, alive) if alive else None  # without workers nothing is known of them
    found = [*warnings(checked), *([f"resources: {in_vain}"] if in_vain else [])]
    needed = estimate(checked, backend.jobs.count_queued(new.queue))
    return Validation(
        valid=True, estimate=with_expectation(backend, checked, principal.owner_filter, needed), warnings=found
    )


def get(backend: Backend, job_id: str, owner: OwnerFilter) -> Job:
    """An owner's job. Raises NotFoundError, GoneError."""
    return _existing(job_id, backend.jobs.get(job_id, owner) if _ID.fullmatch(job_id) else None)


def _existing(job_id: str, job: Job | None) -> Job:
    """The job, unless there is none or it has expired."""
    if job is None:
        raise NotFoundError(f"job {job_id[:60]!r}: you have no job with this id. List your jobs to find the right id.")
    if job.status.final and job.expires_at is not None and job.expires_at <= utc_now():
        raise GoneError(f"job {job_id}: it has expired and its results were removed. Submit it again.")
    return job


def show(backend: Backend, job_id: str, owner: OwnerFilter) -> JobView:
    """The JSON of an owner's job. Raises NotFoundError, GoneError."""
    found = backend.jobs.look_up(job_id, owner) if _ID.fullmatch(job_id) else None
    job = _existing(job_id, found[0] if found else None)
    return _view(backend, job, found[1] if found else None)


def show_all(backend: Backend, found: Sequence[Job]) -> list[JobView]:
    """The JSON of several jobs."""
    places = backend.jobs.positions(found)
    return [_view(backend, job, places.get(job.id)) for job in found]


def find(backend: Backend, owner: OwnerFilter, query: JobQuery) -> Sequence[Job]:
    """The jobs of one page, and one more where there is another page."""
    label = None
    if query.label is not None:
        key, colon, value = query.label.partition(":")
        label = (key, value if colon else None)
    wanted = JobFilter(query.status, query.checkpoint, query.study, label)
    return owned_rows(lambda owner, limit, after: backend.jobs.find(owner, wanted, limit, after), owner, query)


def cancel(backend: Backend, job_id: str, owner: OwnerFilter) -> JobView:
    """Request the cancellation of a job; a second request changes nothing.

    Raises ConflictError (``already_ended``).
    """
    job = get(backend, job_id, owner)
    asked = backend.lifecycle.request_cancel(job.id)
    if asked is None:
        status = get(backend, job_id, owner).status
        raise ConflictError(
            f"job {job_id}: it has ended already ({status}). Retry it to run it again.", code="already_ended"
        )
    return show(backend, job.id, owner)


def retry(backend: Backend, job_id: str, principal: Principal, also: WithinTransaction) -> JobView:
    """Submit a new job of the same owner with the specification of one that has ended.

    Raises ConflictError (``not_ended``).
    """
    job = get(backend, job_id, principal.owner_filter)
    if not job.status.final:
        raise ConflictError(
            f"job {job_id}: it is still {job.status}. Cancel it or wait for its end, then retry it.", code="not_ended"
        )
    if job.study_index is None:
        return submit(backend, job.spec, replace(principal, owner=job.owner), also)
    return _retry_in_study(backend, job, principal.owner_filter, also)


def delete(backend: Backend, job_id: str, owner: OwnerFilter) -> None:
    """Hide a job, and cancel it where it has not ended."""
    job = get(backend, job_id, owner)
    backend.lifecycle.request_cancel(job.id)
    backend.jobs.mark_deleted(job.id)


def log(backend: Backend, job_id: str, owner: OwnerFilter) -> Download:
    """The log of a job so far; empty where there is none yet."""
    job = get(backend, job_id, owner)
    return Download(
        lambda start, stop: backend.logs.read(job.id, start, stop),
        backend.logs.size(job.id),
        "text/plain; charset=utf-8",
        headers={"Cache-Control": "no-store"},
    )


def _retry_in_study(backend: Backend, job: Job, owner: OwnerFilter, also: WithinTransaction) -> JobView:
    """Submit a new job in the place of one of a study. Raises ConflictError (``replaced``)."""
    checked = check(backend, job.spec, owner)
    check_active(backend, job.owner, 1)
    views: list[JobView] = []

    def store_answer(connection: Connection, made: list[Job]) -> None:
        for each in made:
            views.append(_view(backend, each, position_of(connection, each)))
            also(connection, views[0])

    backend.studies.replace([job], [new_job(backend, checked, job.owner)], store_answer)
    if not views:
        raise ConflictError(
            f"job {job.id}: another request has retried it already. See the new job in study {job.study_id}.",
            code="replaced",
        )
    return views[0]


def new_job(backend: Backend, checked: CheckedSpec, owner: str) -> NewJob:
    """The job that a checked specification stands for."""
    spec, alive = checked.spec, backend.live_workers.facts()
    return NewJob(
        owner=owner,
        spec=checked.document(),
        time_limit=spec.time_limit or backend.settings.time_limit_seconds,
        name=spec.name,
        labels=spec.labels,
        checkpoint_id=checked.checkpoint_id,
        dataset_id=checked.dataset.id if checked.dataset else None,
        program_id=checked.program_id,
        calibration_id=checked.calibration.id if checked.calibration else None,
        queue=queue_of(spec, alive),
        memory=(spec.resources.memory if spec.resources else None) or 0,
    )


def _view(backend: Backend, job: Job, position: int | None) -> JobView:
    return JobView.of(job, position, reason_to_wait(job, backend.live_workers))
