"""The form for a new job: what to compress, what matters, and the same job for other ways to submit it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.dependencies import BackendDep
from app.api.jobs import service
from app.api.studies import service as studies
from app.api.studies.grid import check_grid, count_points, grid_points
from app.core.errors import ServiceError
from app.web.job_form.field_names import named_fields
from app.web.job_form.presets import PRESETS, preset_spec
from app.web.job_form.reading import Form, chosen_parts, document_of, grid_of, placeholders
from app.web.job_form.sections import UNLABELLED_INPUTS, sections
from app.web.job_form.snippets import snippets
from app.web.page_route import PageRoute
from app.web.rendering import render
from app.web.uploads import known_files
from app.web.visitor import VisitorDep
from cnet.catalogue import describe_parts
from cnet.errors import CnetError, SpecError

router = APIRouter(prefix="/new", route_class=PageRoute, include_in_schema=False)

_MOST_FIELDS = 500


@router.get("")
def show(request: Request, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The empty form, or with ``clone`` that of a job; the query may fill fields, such as ``checkpoint``."""
    return render(request, "new_job.html", **_form(backend, visitor.principal, dict(request.query_params)))


@router.post("")
async def submit(request: Request, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Submit the job and show it; where it is refused, the form with the reasons."""
    form = await _sent(request)
    try:
        made = await run_in_threadpool(_submit, backend, visitor.principal, form)
    except (CnetError, ServiceError) as error:
        parts = chosen_parts(form, _base(backend, visitor.principal, form))
        values = await run_in_threadpool(_form, backend, visitor.principal, form)
        return render(request, "new_job.html", 422, **{**values, **_refusal(error, parts)})
    return RedirectResponse(f"{request.scope.get('root_path', '')}{made}", 303)


@router.post("/preview")
async def preview(request: Request, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The estimate, the mistakes and the texts to copy of the form as it is filled now."""
    form = await _sent(request)
    values = await run_in_threadpool(_preview, backend, visitor.principal, form, request)
    return render(request, "parts/job_preview.html", **values)


@router.post("/settings")
async def settings(request: Request, backend: BackendDep, visitor: VisitorDep) -> Response:
    """All settings, with the parts that are chosen and what empty fields stand for under the chosen preset."""
    form = await _sent(request)
    values = await run_in_threadpool(_settings, form, _base(backend, visitor.principal, form))
    return render(request, "parts/job_settings.html", values=defaultdict(str, form), **values)


async def _sent(request: Request) -> dict[str, str]:
    """The inputs of the form. Raises HTTPException where there are too many."""
    async with request.form(max_fields=_MOST_FIELDS, max_files=0) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def _base(backend: Backend, principal: Principal, form: Form) -> Mapping[str, Any]:
    """What empty fields stand for: the job that is cloned, or else the chosen preset."""
    if form.get("clone") and form.get("preset", "clone") == "clone":
        return service.get(backend, form["clone"], principal.owner_filter).spec
    return preset_spec(form)


def _submit(backend: Backend, principal: Principal, form: Form) -> str:
    """Submit the job, or the study where there is a grid; returns the path of its page."""
    document, grid = document_of(form, _base(backend, principal, form)), grid_of(form)
    if grid:
        study = studies.submit(backend, {"spec": document, "grid": grid}, principal, lambda _connection, _study: None)
        path = f"/studies/{study.id}"
    else:
        job = service.submit(backend, document, principal, lambda _connection, _job: None)
        path = f"/jobs/{job.id}"
    service.publish(backend)
    return path


def _form(backend: Backend, principal: Principal, form: dict[str, str]) -> dict[str, Any]:
    """What the whole form shows."""
    cloned = service.get(backend, form["clone"], principal.owner_filter) if form.get("clone") else None
    values = {"preset": "clone" if cloned else "safe", **_top_values(cloned.spec if cloned else {}), **form}
    parts = describe_parts()
    return {
        "values": defaultdict(str, values),
        "cloned": cloned,
        "presets": list(PRESETS.values()),
        "files": known_files(backend, principal.owner_filter),
        "architectures": parts["architectures"],
        "datasets": parts["datasets"],
        "tasks": parts["tasks"],
        "issues": (),
        "problem": None,
        **_settings(values, _base(backend, principal, values)),
    }


def _settings(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    shown = sections(chosen_parts(form, base))
    return {"sections": shown, "defaults": placeholders(base, shown)}


def _preview(backend: Backend, principal: Principal, form: Form, request: Request) -> dict[str, Any]:
    base = _base(backend, principal, form)
    document, grid, parts = document_of(form, base), grid_of(form), chosen_parts(form, base)
    texts = snippets(document, grid, str(request.base_url).rstrip("/"), with_key=backend.keys.exist())
    values: dict[str, Any] = {"validation": None, "snippets": texts, "issues": (), "problem": None}
    values["nothing"] = not document.get("checkpoint") and not document.get("architecture")
    values["jobs"] = count_points(grid)
    try:
        check_grid(grid)
        first = grid_points(document, grid)[0].spec if grid else document
        return {**values, "validation": service.validate(backend, first, principal)}
    except (CnetError, ServiceError) as error:
        return {**values, **_refusal(error, parts)}


def _refusal(error: CnetError | ServiceError, parts: Mapping[str, str]) -> dict[str, Any]:
    """Why a job is refused: all mistakes, each with the field that it is in, or else one sentence.

    The fields that they name follow with their labels on the page, where the sections show ``parts``.
    """
    issues = error.issues if isinstance(error, SpecError) else ()
    told = [(".".join(map(str, issue.loc)), issue.msg) for issue in issues]
    named = named_fields(" ".join(f"{where} {what}" for where, what in told) or error.detail, parts)
    return {"issues": told, "problem": error.detail, "named": named}


def _top_values(spec: Mapping[str, Any]) -> dict[str, str]:
    """What the first part of the form shows of a job that is cloned."""
    network = spec.get("architecture") or {}
    labels = ", ".join(f"{key}: {value}" for key, value in (spec.get("labels") or {}).items())
    return {
        "checkpoint": spec.get("checkpoint") or "",
        "dataset": spec.get("dataset") or "",
        UNLABELLED_INPUTS: (spec.get("calibrate") or {}).get("inputs") or "",
        "architecture": network.get("program") or network.get("name") or "",
        "task": network.get("task") or "",
        "output": "" if network.get("output") is None else str(network["output"]),
        "name": spec.get("name") or "",
        "labels": labels,
    }
