"""The workers that run now, and what waits for them."""

from __future__ import annotations

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.workers.schemas import QueueView, WorkerList, WorkerView


def overview(backend: Backend, principal: Principal) -> WorkerList:
    """The workers with the jobs that the sender of the request may see, and the queues with waiting jobs."""
    queues = [QueueView.of(each) for each in backend.jobs.queues()]
    return WorkerList(data=_workers(backend, principal), queues=queues)


def _workers(backend: Backend, principal: Principal) -> list[WorkerView]:
    running = backend.workers.jobs()
    rows = []
    for row in backend.workers.alive(backend.settings.lease_seconds):
        job, owner = running.get(row.id, (None, None))
        shown = job if principal.admin or owner == principal.owner else None
        rows.append(WorkerView.of(row, job is not None, shown))
    return rows
