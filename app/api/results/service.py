"""The operations on results."""

from __future__ import annotations

import re
from typing import Any

from app.api.backend import Backend
from app.api.http.errors import UnprocessableError
from app.api.http.file_response import Download
from app.api.http.filenames import attachment
from app.api.jobs.schemas import with_bundle_url
from app.api.jobs.service import get
from app.api.results.decoded_models import DecodedModels, model_formats
from app.core.errors import ConflictError, NotFoundError
from app.core.jobs import Job, PointRow
from app.core.ownership import OwnerFilter
from app.figures import size_accuracy, svg
from cnet.bundle.packed_onnx import PACKED_ONNX
from cnet.results import report
from cnet.results.points import BaselineResult, Point

_SUFFIXES = {"torch": "pt", PACKED_ONNX: "packed.onnx"}
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def results(backend: Backend, job_id: str, owner: OwnerFilter) -> dict[str, Any]:
    """The baseline, the points so far and the index of the selected one, as JSON."""
    job = get(backend, job_id, owner)
    points = [with_bundle_url(job.id, row.data) for row in backend.points.of_job(job.id)]
    return {"baseline": job.baseline, "points": points, "selected": job.selected}


def metrics(backend: Backend, job_id: str, owner: OwnerFilter) -> dict[str, Any]:
    """The same as ``results``, with the metrics of each layer and the histogram of the weights."""
    job = get(backend, job_id, owner)
    rows = backend.points.of_job(job.id)
    points = [{**with_bundle_url(job.id, row.data), "layers": row.layers, "histogram": row.histogram} for row in rows]
    return {"baseline": job.baseline, "points": points, "selected": job.selected}


def metrics_csv(backend: Backend, job_id: str, owner: OwnerFilter) -> tuple[str, str]:
    """The table of the points as CSV, and a file name for it."""
    job = get(backend, job_id, owner)
    points = [Point.from_json(row.data) for row in backend.points.of_job(job.id)]
    return report.metrics_csv(points, job.selected), f"{job.name or job.id}.csv"


def plot(backend: Backend, job_id: str, owner: OwnerFilter) -> str:
    """The plot of size against accuracy as SVG. Raises ConflictError (``not_ready``) where there is no point yet."""
    job = get(backend, job_id, owner)
    points = [Point.from_json(row.data) for row in backend.points.of_job(job.id)]
    baseline = BaselineResult.from_json(job.baseline) if job.baseline is not None else None
    series = size_accuracy.Series(job.name or job.id, baseline, points, job.selected)
    drawn = size_accuracy.plot([series], f"{job.name or job.id}: size and score")
    if drawn is None:
        raise ConflictError(
            f"job {job.id}: it is {job.status} and has no point to plot yet. Wait for its first point.",
            code="not_ready",
        )
    return svg.document(drawn)


def bundle(backend: Backend, job_id: str, owner: OwnerFilter, index: int | None) -> Download:
    """The bundle of a point. Raises ConflictError (``not_ready``), NotFoundError, GoneError."""
    job = get(backend, job_id, owner)
    row = _point(backend, job, index)
    headers = {
        "Content-Disposition": attachment(bundle_name(job, row.index)),
        "Cache-Control": "private, no-cache",
    }
    return backend.downloads.of(row.blob, headers)


def model(
    backend: Backend, models: DecodedModels, key: tuple[str, OwnerFilter], index: int | None, model_format: str
) -> Download:
    """The decoded model of a point.

    Args:
        backend: where the bundle is stored.
        models: the cache of decoded models.
        key: id of the job, and the owner whose jobs are looked at.
        index: the point; None for the selected one.
        model_format: one of ``model_formats()``, or ``pt``, which is ``torch``.

    Raises:
        UnprocessableError: (``unsupported_format``) the format is unknown, or the model is too large for it.
        ConflictError, NotFoundError, GoneError: as ``bundle``.
    """
    model_format = "torch" if model_format == "pt" else model_format
    if model_format not in model_formats():
        raise UnprocessableError(
            f"format {model_format[:40]!r}: it is not available. Use one of: {', '.join(model_formats())}.",
            code="unsupported_format",
        )
    job = get(backend, *key)
    row = _point(backend, job, index)
    file, size = models.open(backend.blobs, row.blob, model_format)
    headers = {
        "Content-Disposition": attachment(f"{_stem(job, row.index)}.{_SUFFIXES.get(model_format, model_format)}"),
        "Cache-Control": "private, no-cache",
    }
    return Download.of_file(file, size, "application/octet-stream", f'"{row.blob}-{model_format}"', headers)


def _point(backend: Backend, job: Job, index: int | None) -> PointRow:
    """The point with this index, or the selected one for None."""
    wanted = job.selected if index is None else index
    if wanted is None:
        if not job.status.final:
            raise ConflictError(
                f"job {job.id}: it is {job.status}, so no point is selected yet. Wait for it, or add ?point=INDEX.",
                code="not_ready",
            )
        if backend.points.of_job(job.id):
            raise NotFoundError(
                f"job {job.id}: its status is {job.status} and no point is selected. "
                "Choose one of its points with ?point=INDEX."
            )
        raise NotFoundError(f"job {job.id}: its status is {job.status} and it made no point. Submit a new job.")
    rows = backend.points.of_job(job.id)
    found = next((row for row in rows if row.index == wanted), None)
    if found is None:
        raise NotFoundError(
            f"job {job.id}: none of its {len(rows)} points has the index {wanted}. "
            f"Choose one that GET /v1/jobs/{job.id}/results lists."
        )
    return found


def bundle_name(job: Job, index: int) -> str:
    """The name of the file with the bundle of a point."""
    return f"{_stem(job, index)}.npz"


def _stem(job: Job, index: int) -> str:
    """The job's name, or else its id, and the index of the point, in characters that every file system takes."""
    name = _NOT_IN_NAMES.sub("_", job.name or "").strip("_.")
    return f"{name or job.id}-point{index}"
