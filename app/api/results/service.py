"""A job's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.api.backend import Backend
from app.api.http.errors import UnprocessableError
from app.api.http.file_response import Download, repr_digest
from app.api.http.filenames import attachment
from app.api.jobs.schemas import with_bundle_url
from app.api.jobs.service import get
from app.api.results.models import Models, model_formats
from app.core.errors import ConflictError, NotFoundError
from app.core.jobs import Job, PointRow
from cnet import report
from cnet.points import Point


def results(backend: Backend, job_id: str, owner: str) -> dict[str, Any]:
    """Baseline, points and the selected one; points appear while the job runs."""
    job = get(backend, job_id, owner)
    points = [with_bundle_url(job.id, row.data) for row in backend.points.of(job.id)]
    return {"baseline": job.baseline, "points": points, "selected": job.selected}


def metrics(backend: Backend, job_id: str, owner: str) -> dict[str, Any]:
    """The same with the numbers of each layer."""
    job = get(backend, job_id, owner)
    rows = backend.points.of(job.id)
    points = [{**with_bundle_url(job.id, row.data), "layers": row.layers} for row in rows]
    return {"baseline": job.baseline, "points": points, "selected": job.selected}


def metrics_csv(backend: Backend, job_id: str, owner: str) -> tuple[str, str]:
    """The table of the points, and a name for it."""
    job = get(backend, job_id, owner)
    points = [Point.from_json(row.data) for row in backend.points.of(job.id)]
    return report.metrics_csv(points, job.selected), f"{job.name or job.id}.csv"


def bundle(backend: Backend, job_id: str, owner: str, index: int | None) -> Download:
    """A point's bundle. Raises ConflictError (``not_ready``), NotFoundError, GoneError."""
    job = get(backend, job_id, owner)
    row = _point(backend, job, index)
    file = backend.blobs.path(row.blob).open("rb")
    headers = {
        "Content-Disposition": attachment(f"{_stem(job, row)}.npz"),
        "Repr-Digest": repr_digest(row.blob),
        "Cache-Control": "private, no-cache",
    }
    return Download(file, backend.blobs.size(row.blob), "application/octet-stream", f'"{row.blob}"', headers)


def model(backend: Backend, models: Models, key: tuple[str, str], index: int | None, model_format: str) -> Download:
    """A point's decoded model; ``key`` is job and owner. Raises as ``bundle``, and UnprocessableError (format)."""
    if model_format not in model_formats():
        raise UnprocessableError(
            f"models are not available as {model_format[:40]!r}; available: {', '.join(model_formats())}",
            code="unsupported_format",
        )
    job = get(backend, *key)
    row = _point(backend, job, index)
    file, size = models.open(backend.blobs.path(row.blob), row.blob, model_format)
    headers = {
        "Content-Disposition": attachment(f"{_stem(job, row)}.{model_format}"),
        "Cache-Control": "private, no-cache",
    }
    return Download(file, size, "application/octet-stream", f'"{row.blob}-{model_format}"', headers)


def _point(backend: Backend, job: Job, index: int | None) -> PointRow:
    """The point with this index, or the selected one."""
    wanted = job.selected if index is None else index
    if wanted is None:
        if not job.status.final:
            raise ConflictError(
                f"the job {job.id} is {job.status}, so no point is selected yet: wait for it, or name one by ?point=",
                code="not_ready",
            )
        hint = "name one by ?point=" if backend.points.of(job.id) else "it made none"
        raise NotFoundError(f"the job {job.id} is {job.status} and no point is selected: {hint}")
    rows = backend.points.of(job.id)
    found = next((row for row in rows if row.index == wanted), None)
    if found is None:
        raise NotFoundError(f"the job {job.id} has no point with index {wanted}: so far {len(rows)}, counted from 0")
    return found


def _stem(job: Job, row: PointRow) -> str:
    return f"{Path(job.name or '').stem or job.id}-point{row.index}"
