"""The operations on studies."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.http.errors import UnprocessableError
from app.api.http.pagination import ID_PATTERN, OwnedPageQuery, owned_rows
from app.api.jobs import service as jobs
from app.api.jobs.checks import CheckedSpec, check
from app.api.jobs.schemas import with_bundle_url
from app.api.studies.grid import GridPoint, check_grid, count_points, grid_points, values_at
from app.api.studies.schemas import StudyMember, StudyRequest, StudySummary, StudyView
from app.core.clock import utc_now
from app.core.errors import ConflictError, GoneError, NotFoundError, ServiceError
from app.core.jobs import Job
from app.core.jobs.studies import NewStudy, Study, StudyState
from app.core.ownership import OwnerFilter
from app.core.states import Status
from cnet.errors import CnetError
from cnet.parts.validation import parsed
from cnet.results import report
from cnet.results.points import Point

_ID = re.compile(ID_PATTERN)

WithinTransaction = Callable[[Connection, StudyView], None]
"""Called in the transaction that stores a study's jobs, with its connection and the study."""


def submit(backend: Backend, document: Any, principal: Principal, also: WithinTransaction) -> StudyView:
    """Check every job of a study and store them all; where one of them is refused, none is stored.

    Args:
        backend: where the study is stored.
        document: specification and grid as parsed JSON.
        principal: who sent the request; the study is theirs.
        also: called in the transaction that creates the study.

    Raises:
        SpecError: the document or one of its jobs is not valid.
        UnprocessableError: (``study_too_large``) it has more jobs than a study may have.
        TooManyError: with these jobs the owner would have more than ``max_active_jobs`` that have not ended.
        NotFoundError, GoneError, ArchitectureMismatchError, DatasetError, ProgramError: as ``checks.check``.
    """
    request = parsed(StudyRequest, document, "the study")
    check_grid(request.grid)
    _check_size(backend, count_points(request.grid))
    jobs.check_active(backend, principal.owner, count_points(request.grid))
    checked = [_check(backend, point, principal.owner_filter) for point in grid_points(request.spec, request.grid)]
    new = NewStudy(principal.owner, checked[0].spec.name, checked[0].spec.labels or {}, request.spec, request.grid)
    members = [jobs.new_job(backend, each, principal.owner) for each in checked]

    def store_answer(connection: Connection, study: Study, made: list[Job]) -> None:
        also(connection, _view(study, made))

    return _view(*backend.studies.create(new, members, store_answer))


def get(backend: Backend, study_id: str, owner: OwnerFilter) -> Study:
    """An owner's study. Raises NotFoundError, GoneError."""
    study = backend.studies.get(study_id, owner) if _ID.fullmatch(study_id) else None
    if study is None:
        raise NotFoundError(
            f"study {study_id[:60]!r}: you have no study with this id. List your studies to find the right id."
        )
    expired = study.expires_at is not None and study.expires_at <= utc_now()
    if expired and backend.studies.states([study.id])[study.id].status.final:
        raise GoneError(f"study {study_id}: it has expired and its results were removed. Submit it again.")
    return study


def show(backend: Backend, study_id: str, owner: OwnerFilter) -> StudyView:
    """The JSON of a study with its jobs. Raises NotFoundError, GoneError."""
    study = get(backend, study_id, owner)
    return _view(study, backend.studies.members(study.id))


def find(backend: Backend, owner: OwnerFilter, query: OwnedPageQuery) -> list[StudySummary]:
    """The studies of one page, and one more where there is another page."""
    found = owned_rows(backend.studies.find, owner, query)
    states = backend.studies.states([study.id for study in found])
    return [StudySummary.of(study, states[study.id]) for study in found]


def cancel(backend: Backend, study_id: str, owner: OwnerFilter) -> StudyView:
    """Request the cancellation of all jobs of a study that have not ended. Raises ConflictError (``already_ended``)."""
    study = get(backend, study_id, owner)
    backend.studies.cancel(study.id)
    view = show(backend, study_id, owner)
    if view.status.final and view.status is not Status.CANCELLED and not view.jobs.cancelled:
        raise ConflictError(
            f"study {study_id}: it has ended already ({view.status}). Retry it to run its failed jobs again.",
            code="already_ended",
        )
    return view


def retry(backend: Backend, study_id: str, owner: OwnerFilter, also: WithinTransaction) -> StudyView:
    """Submit a new job in the place of each that failed, timed out or was cancelled.

    Raises:
        ConflictError: (``nothing_to_retry``) no job of the study has ended so.
    """
    study = get(backend, study_id, owner)
    members = backend.studies.members(study.id)
    failed = [job for job in members if job.status.final and job.status is not Status.SUCCEEDED]
    if not failed:
        raise ConflictError(
            f"study {study_id}: none of its jobs has failed or was cancelled. Wait for its end, or submit a new study.",
            code="nothing_to_retry",
        )
    jobs.check_active(backend, study.owner, len(failed))
    points = [GridPoint(job.study_index or 0, values_at(study.grid, job.study_index or 0), job.spec) for job in failed]
    new = [jobs.new_job(backend, _check(backend, point, owner), study.owner) for point in points]

    def view(made: Sequence[Job]) -> StudyView:
        current = {job.study_index: job for job in (*members, *made)}
        return _view(study, [current[index] for index in sorted(current, key=lambda index: index or 0)])

    return view(backend.studies.replace(failed, new, lambda connection, made: also(connection, view(made))))


def delete(backend: Backend, study_id: str, owner: OwnerFilter) -> None:
    """Hide a study with all of its jobs, and cancel those that have not ended."""
    study = get(backend, study_id, owner)
    backend.studies.cancel(study.id)
    backend.studies.mark_deleted(study.id)


def results(backend: Backend, study_id: str, owner: OwnerFilter) -> dict[str, Any]:
    """The points of all jobs of a study so far, as JSON."""
    study = get(backend, study_id, owner)
    points = backend.points.of_study(study.id)
    members = []
    for job in backend.studies.members(study.id):
        facts = StudyMember.facts(study, job)
        shown = [with_bundle_url(job.id, data) for data in points.get(job.id, ())]
        about = {name: facts[name] for name in ("index", "values", "job", "status", "error")}
        members.append({**about, "baseline": job.baseline, "points": shown, "selected": job.selected})
    return {"grid": study.grid, "members": members}


def results_csv(backend: Backend, study_id: str, owner: OwnerFilter) -> tuple[str, str]:
    """The points of all jobs as a table: the grid's values, the job, and the columns of a job's table; and a name."""
    study = get(backend, study_id, owner)
    points = backend.points.of_study(study.id)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    header: list[str] = []
    for job in backend.studies.members(study.id):
        values = values_at(study.grid, job.study_index or 0)
        rows = _table(job, [Point.from_json(data) for data in points.get(job.id, ())])
        if not header:
            header = [*values, "job", *next(rows)]
            table.writerow(header)
        else:
            next(rows)
        for row in rows:
            table.writerow([*map(_cell, values.values()), job.id, *row])
    return text.getvalue(), f"{study.name or study.id}.csv"


def _table(job: Job, points: Sequence[Point]) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(report.metrics_csv(points, job.selected)))


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _check_size(backend: Backend, count: int) -> None:
    most = backend.settings.max_study_jobs
    if count > most:
        raise UnprocessableError(
            f"study: its grid stands for {count:,} jobs, and the server allows {most:,}. Leave values out, or submit "
            "several studies.",
            code="study_too_large",
        )


def _check(backend: Backend, point: GridPoint, owner: OwnerFilter) -> CheckedSpec:
    try:
        return check(backend, point.spec, owner)
    except (CnetError, ServiceError) as error:
        error.detail = f"{point}: {error.detail}"
        raise


def _view(study: Study, members: Sequence[Job]) -> StudyView:
    return StudyView.made(study, StudyState.of(members), members)
