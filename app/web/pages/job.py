"""One job: its progress and training curves while it runs, then its points and the bundle of one of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from app.api.backend import Backend
from app.api.dependencies import BackendDep, JobId
from app.api.jobs import service
from app.api.jobs.schemas import JobUrls
from app.api.results import service as results
from app.api.results.decoded_models import model_formats
from app.core.clock import utc_now
from app.core.jobs import Job
from app.core.ownership import OwnerFilter
from app.figures import curves, size_accuracy, svg
from app.figures.score import Score
from app.web.job_points import JobPoints
from app.web.page_route import PageRoute
from app.web.point_details import PointDetails
from app.web.progress import Progress, phases_of
from app.web.rendering import render
from app.web.use_it import snippets
from app.web.visitor import VisitorDep
from cnet.bundle.packed_onnx import PACKED_ONNX
from cnet.results.damage import verdict
from cnet.search.selection import selection_reason
from cnet.spec import Target

router = APIRouter(prefix="/jobs/{job_id}", route_class=PageRoute, include_in_schema=False)

PointIndex = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
_LOG_TAIL = 20_000  # bytes
_FORMATS = {
    "torch": ("PyTorch (.pt)", "A state dict, for torch.load(file, weights_only=True)."),
    "safetensors": ("safetensors", "All tensors, for any library that reads safetensors."),
    "npz": ("NumPy (.npz)", "An array for each tensor, for numpy.load(file)."),
    "onnx": ("ONNX tensors", "The initializers without a graph; below is how to put them into the graph of yours."),
    PACKED_ONNX: ("ONNX, packed", "The same with labels and codebooks, which ONNX Runtime unpacks when it loads them."),
}
"""The formats of decoded models in the order in which they are offered: a name, and what the file is."""


@router.get("")
def show(
    request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep, point: PointIndex = None
) -> Response:
    """The whole page."""
    job = service.get(backend, job_id, visitor.owner_filter)
    deliveries = backend.deliveries.of_job(job.id) if job.spec.get("webhook") else []
    points = _points(backend, job, visitor.owner_filter, point)
    return render(request, "job.html", deliveries=deliveries, **_running(backend, job), **points)


@router.get("/progress")
def progress(request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The changing part, which the page of a running job asks for again and again; its end shows the whole page."""
    job = service.get(backend, job_id, visitor.owner_filter)
    response = render(request, "parts/job_progress.html", **_running(backend, job))
    if job.status.final:
        response.headers["HX-Refresh"] = "true"
    return response


@router.get("/log")
def log(request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The end of the log, which the page of a running job asks for again and again."""
    job = service.get(backend, job_id, visitor.owner_filter)
    return render(request, "parts/job_log.html", job=job, log=_log_tail(backend, job))


@router.post("/cancel")
def cancel(request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Cancel the job, then show it."""
    service.cancel(backend, job_id, visitor.owner_filter)
    return _to(request, f"/jobs/{job_id}")


@router.post("/retry")
def retry(request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Run the job again, then show the new one."""
    made = service.retry(backend, job_id, visitor.principal, lambda _connection, _job: None)
    service.publish(backend)
    return _to(request, f"/jobs/{made.id}")


@router.get("/delete")
def ask(request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Ask whether the job should be deleted."""
    return render(request, "delete_job.html", job=service.get(backend, job_id, visitor.owner_filter))


@router.post("/delete")
def delete(request: Request, job_id: JobId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Delete the job, then show the list."""
    service.delete(backend, job_id, visitor.owner_filter)
    return _to(request, "/")


def _to(request: Request, path: str) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{path}", 303)


def _running(backend: Backend, job: Job) -> dict[str, Any]:
    """What changes while the job runs."""
    now = utc_now()
    epochs = [event.data["metric"] for event in backend.events.of_type(job.id, "metric")]
    phases = [str(row.get("phase", "")) for row in epochs]
    return {
        "job": job,
        "urls": JobUrls.of(job.id),
        "progress": Progress.of(job, now),
        "queue_position": backend.jobs.positions([job]).get(job.id),
        "phases": phases_of(job, backend.events.of_type(job.id, "phase"), now),
        "curves": [Markup(svg.markup(curves.plot(curve, phases))) for curve in curves.curves_of(epochs)],  # noqa: S704 - built from elements
        "log": _log_tail(backend, job),
    }


def _points(backend: Backend, job: Job, owner: OwnerFilter, index: int | None) -> dict[str, Any]:
    """The points, and the details of the one that is asked for, or else of the selected one or the first."""
    found = JobPoints.of(results.metrics(backend, job.id, owner))
    shown = found.choose(index)
    series = size_accuracy.Series(
        job.name or job.id,
        found.baseline,
        found.points,
        job.selected,
        None if shown is None else shown.index,
        lambda number: f"?point={number}#point",
    )
    plot = size_accuracy.plot([series], "Size and score of every point")
    return {
        "found": found,
        **_judgement(job, found),
        "score": Score.shared_by(found.points),
        "plot": None if plot is None else Markup(svg.markup(plot)),  # noqa: S704 - built from elements
        "point": None if shown is None else PointDetails.of(shown, found.baseline),
        "formats": [(name, *_FORMATS.get(name, (name, ""))) for name in sorted(model_formats(), key=_place)],
        "uses": None if shown is None else snippets(results.bundle_name(job, shown.index)),
    }


def _place(model_format: str) -> int:
    """The place of a format in the list of downloads; those of plug-ins come last."""
    return list(_FORMATS).index(model_format) if model_format in _FORMATS else len(_FORMATS)


def _judgement(job: Job, found: JobPoints) -> dict[str, Any]:
    """Why the selected point was selected, and whether its network can be expected to work."""
    chosen = next((point for point in found.points if point.index == found.selected), None)
    if chosen is None or found.baseline is None:
        return {"reason": None, "verdict": ""}
    target = Target.model_validate(job.spec["target"]) if job.spec.get("target") else None
    told = verdict(found.baseline, chosen).removeprefix("verdict: ")
    return {
        "reason": selection_reason(target, found.baseline, found.points, chosen),
        "verdict": (told[:1].upper() + told[1:]).rstrip("."),
    }


def _log_tail(backend: Backend, job: Job) -> str:
    """The end of the log, in whole lines."""
    download = service.log(backend, job.id, job.owner)
    start = max(download.size - _LOG_TAIL, 0)
    try:
        text = b"".join(download.read(start, download.size)).decode("utf-8", "replace")
    finally:
        download.close()
    return text if start == 0 else text.partition("\n")[2]
