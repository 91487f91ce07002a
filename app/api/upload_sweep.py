"""Removal of expired uploads by the API, whose folder no worker may share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.concurrency import run_in_threadpool

from app.api.backend import Backend
from app.core.db.engine import TRANSIENT
from app.core.telemetry.logs import get_logger
from app.core.uploads import sweep_uploads

log = get_logger(__name__)

SWEEP_SECONDS = 300.0
"""Time between two sweeps."""


@asynccontextmanager
async def uploads_are_swept(backend: Backend, seconds: float = SWEEP_SECONDS) -> AsyncIterator[None]:
    """Sweep the uploads while the context lasts: at its start, and again and again."""
    task = asyncio.create_task(_sweep(backend, seconds))
    try:
        yield
    finally:
        task.cancel()


async def _sweep(backend: Backend, seconds: float) -> None:
    while True:
        try:
            await run_in_threadpool(sweep_uploads, backend.uploads, backend.partial_files)
        except (*TRANSIENT, OSError) as error:
            log.warning("expired uploads could not be removed; this is tried again", error=type(error).__name__)
        await asyncio.sleep(seconds)
