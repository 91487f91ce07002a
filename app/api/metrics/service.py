"""The numbers of the whole service, read from the database."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from app.api.backend import Backend
from app.api.metrics.exposition import Family, Sample
from app.core.clock import utc_now
from app.core.db.tables import checkpoints, datasets, jobs, outbox, programs, uploads
from app.core.jobs import waiting
from app.core.states import Status
from app.core.workers import WorkerRow


def families(backend: Backend) -> list[Family]:
    """The numbers of jobs, queues, workers and stored files now."""
    now = utc_now()
    with backend.database.read() as connection:
        queues = waiting.queues(connection)
        found = [
            _jobs(connection),
            Family(
                "cnet_queue_jobs",
                "gauge",
                "Jobs that wait for a worker.",
                [Sample(queue.waiting, {"queue": queue.name}) for queue in queues],
            ),
            Family(
                "cnet_queue_age_seconds",
                "gauge",
                "Time for which the oldest of them has waited.",
                [Sample(max((now - queue.oldest).total_seconds(), 0.0), {"queue": queue.name}) for queue in queues],
            ),
            _expired_leases(connection),
            _unsent(connection),
            _bytes(connection),
        ]
    return [*found, *_workers(backend.workers.alive(backend.settings.lease_seconds))]


def _jobs(connection: Connection) -> Family:
    query = select(jobs.c.status, func.count()).where(jobs.c.deleted_at.is_(None)).group_by(jobs.c.status)
    counts = {str(status): count for status, count in connection.execute(query)}
    samples = [Sample(counts.get(status, 0), {"status": status}) for status in Status]
    return Family("cnet_jobs", "gauge", "Jobs that are not deleted, by status.", samples)


def _expired_leases(connection: Connection) -> Family:
    running = jobs.c.status.in_((Status.RUNNING, Status.CANCELLING))
    query = select(func.count()).select_from(jobs).where(running, jobs.c.lease_until < utc_now())
    count = connection.execute(query).scalar_one()
    return Family("cnet_expired_leases", "gauge", "Running jobs whose worker was lost.", [Sample(count)])


def _unsent(connection: Connection) -> Family:
    count = connection.execute(select(func.count()).select_from(outbox)).scalar_one()
    return Family("cnet_unsent_messages", "gauge", "Messages that the broker has not taken yet.", [Sample(count)])


def _bytes(connection: Connection) -> Family:
    samples = []
    for table in (checkpoints, datasets, programs, uploads):
        column = table.c.received_bytes if table is uploads else table.c.size_bytes
        query = select(func.coalesce(func.sum(column), 0)).where(table.c.deleted_at.is_(None))
        samples.append(Sample(int(connection.execute(query).scalar_one()), {"kind": table.name}))
    return Family("cnet_uploaded_bytes", "gauge", "Size of the uploaded files, before they are shared.", samples)


def _workers(alive: list[WorkerRow]) -> list[Family]:
    memory = [
        Sample(gpu["memory_bytes"], {"worker": row.id, "gpu": str(number)})
        for row in alive
        for number, gpu in enumerate(row.facts.gpus)
    ]
    return [
        Family("cnet_workers", "gauge", "Workers that run now.", [Sample(len(alive))]),
        Family("cnet_worker_gpu_memory_bytes", "gauge", "Memory of each GPU of a worker.", memory),
    ]
