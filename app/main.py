"""The HTTP API: ``uvicorn --factory app.main:serve_app``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from app.api.auth import Authentication, check_address
from app.api.backend import Backend
from app.api.catalogue.endpoints import router as catalogue
from app.api.checkpoints.endpoints import router as checkpoints
from app.api.compare.endpoints import router as compare
from app.api.datasets.endpoints import router as datasets
from app.api.health.endpoints import router as health
from app.api.http.allocator import reuse_large_buffers
from app.api.http.draining import Draining
from app.api.http.openapi import describe
from app.api.http.problems import handle_known, handle_validation
from app.api.http.request_context import RequestContext
from app.api.jobs.endpoints import router as jobs
from app.api.keys.endpoints import router as keys
from app.api.keys.schemas import KeyRequest
from app.api.metrics.answers import RecordAnswers
from app.api.metrics.endpoints import router as metrics
from app.api.programs.endpoints import router as programs
from app.api.request_folder import remove_abandoned_folders
from app.api.results.endpoints import router as results
from app.api.stored.endpoints import router as stored
from app.api.studies.endpoints import router as studies
from app.api.studies.schemas import StudyRequest
from app.api.upload_sweep import uploads_are_swept
from app.api.uploads.endpoints import router as uploads
from app.api.uploads.headers import TusResponses
from app.api.webhooks.endpoints import router as webhooks
from app.api.webhooks.schemas import SecretRequest
from app.api.workers.endpoints import router as workers
from app.core.db import revision
from app.core.errors import ServiceError
from app.core.queue import JobQueue
from app.core.settings import Settings
from app.core.telemetry.logs import configure_logs, get_logger
from app.core.telemetry.traces import configure_traces
from app.web.page_route import handle_http
from app.web.routes import add_pages
from cnet.errors import CnetError
from cnet.parts.plugins import load_plugins
from cnet.spec import JobSpec

log = get_logger(__name__)

_SUMMARY = "Compress trained neural networks: upload a checkpoint, get back a file many times smaller."
_DESCRIPTION = (
    "Upload a checkpoint, submit a job, follow it, download the bundle. Every error is an RFC 9457 problem with a "
    "stable `code`, and its `detail` says what to do. Every POST takes an `Idempotency-Key`. Sizes are in bytes, "
    "times are RFC 3339 in UTC, accuracies are percentages, sparsity is a fraction from 0 to 1; a value that was not "
    "measured is `null`."
)
_TAGS = [
    {"name": "uploads", "description": "Large files, sent by the tus protocol: an interrupted upload goes on."},
    {"name": "checkpoints", "description": "The weights of trained models."},
    {"name": "datasets", "description": "Samples to train on and to measure accuracy with."},
    {"name": "programs", "description": "The architectures of your own networks, exported by `torch.export`."},
    {"name": "jobs", "description": "Compressing a checkpoint: submit a job, follow it, cancel it."},
    {"name": "studies", "description": "Grids of jobs: one specification, and the fields of it that vary."},
    {"name": "results", "description": "What a job made: points, bundles, decoded models, metrics."},
    {"name": "webhooks", "description": "Messages to an address of yours, once a job has ended."},
    {"name": "catalogue", "description": "The parts that a job can name, and the limits of the server."},
    {"name": "workers", "description": "The processes that run jobs."},
    {"name": "keys", "description": "API keys, for administrators."},
    {"name": "health", "description": "Whether the server runs, and whether it can take jobs."},
]


def serve_app() -> FastAPI:
    """The application of a server process, whose log it sets up."""
    settings = Settings()
    configure_logs(settings)
    configure_traces(settings, "cnet-api")
    return create_app(settings)


def create_app(settings: Settings | None = None, queue: JobQueue | None = None) -> FastAPI:
    """Create the application. It connects to nothing until it starts.

    Args:
        settings: by default those of the environment.
        queue: used in place of the broker that the settings name.

    Raises:
        PluginError: an installed plug-in cannot be loaded.
    """
    load_plugins()
    backend = Backend.create(settings or Settings(), queue)
    app = FastAPI(
        title="cnet",
        version=_version(),
        summary=_SUMMARY,
        description=_DESCRIPTION,
        openapi_tags=_TAGS,
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's pages load scripts from other hosts
        redoc_url=None,
    )
    app.state.backend = backend
    for router in (jobs, uploads, stored, checkpoints, datasets, programs):  # they are tried in turn: polls first
        app.routes.extend(router.routes)  # include_router would work each route out again for this application
    for router in (studies, results, webhooks, compare, catalogue, workers, keys, health, metrics):
        app.routes.extend(router.routes)
    add_pages(app)
    for kind in (ServiceError, CnetError, SQLAlchemyError, OSError):
        app.add_exception_handler(kind, handle_known)
    app.add_exception_handler(RequestValidationError, handle_validation)
    app.add_exception_handler(HTTPException, handle_http)
    app.add_middleware(Authentication, keys=backend.keys, limits=backend.limits)
    app.add_middleware(TusResponses)
    app.add_middleware(RequestContext)
    app.add_middleware(RecordAnswers, counts=backend.requests, traced=bool(backend.settings.otlp_endpoint))
    app.add_middleware(Draining, silence=backend.settings.linger_seconds)  # the last added is the outermost
    app.openapi = lambda: describe(app, (JobSpec, StudyRequest, KeyRequest, SecretRequest))  # type: ignore[method-assign]
    return app


def check_start(backend: Backend) -> None:
    """Check that the server may start. ``cnet up`` also calls this before it starts anything.

    Raises:
        SchemaVersionError: the database has no tables, or those of another release.
        ForbiddenError: (``keys_needed``) there are no API keys, and the address is not a loopback address.
    """
    revision.check(backend.database)
    check_address(backend.settings.host, backend.keys)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    backend: Backend = app.state.backend
    reuse_large_buffers()
    await run_in_threadpool(check_start, backend)
    removed = await run_in_threadpool(remove_abandoned_folders, backend.settings.scratch_dir)
    if removed:
        log.info("removed the folders of requests that a killed server left behind", folders=removed)
    async with uploads_are_swept(backend):
        yield
    await backend.limits.counters.close()
    backend.close()


@cache
def _version() -> str:
    try:
        return version("cnet")
    except PackageNotFoundError:
        return "0"
