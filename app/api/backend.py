"""The objects that all endpoints share, created once for each application."""

from __future__ import annotations

from dataclasses import dataclass

from anyio import CapacityLimiter

from app.api.blob_download import BlobDownloads
from app.api.jobs.feed import JobFeed
from app.api.jobs.placement import LiveWorkers
from app.api.limits.counters import RequestCounters
from app.api.limits.policy import RequestLimits
from app.api.metrics.request_counts import RequestCounts
from app.api.running_hashes import RunningHashes
from app.api.sandbox import Sandbox, SandboxLimits
from app.core.blobs import BlobStore, open_blobs
from app.core.db.engine import Database
from app.core.idempotency import IdempotencyKeys
from app.core.jobs import JobChanges, JobEvents, JobLogs, JobPoints, Jobs, Lifecycle, Studies
from app.core.keys import ApiKeys
from app.core.outbox import Outbox
from app.core.queue import JobQueue
from app.core.settings import Settings
from app.core.uploaded_files import UploadedFiles
from app.core.uploads import Holdings, PartialFiles, Uploads, open_partial_files
from app.core.webhooks.deliveries import Deliveries
from app.core.webhooks.secrets import WebhookSecrets
from app.core.workers import Workers

_HEAVY_REQUESTS = 2  # uploads read and bundles decoded at once: each needs memory and a processor core


@dataclass(frozen=True)
class Backend:
    """Settings, database, stored files, queue and sandbox. Several threads may use everything in it."""

    settings: Settings
    database: Database
    queue: JobQueue
    blobs: BlobStore
    downloads: BlobDownloads
    sandbox: Sandbox
    heavy_work: CapacityLimiter
    keys: ApiKeys
    idempotency: IdempotencyKeys
    workers: Workers
    live_workers: LiveWorkers
    checkpoints: UploadedFiles
    datasets: UploadedFiles
    programs: UploadedFiles
    uploads: Uploads
    partial_files: PartialFiles
    hashes: RunningHashes
    holdings: Holdings
    jobs: Jobs
    studies: Studies
    lifecycle: Lifecycle
    events: JobEvents
    requests: RequestCounts
    feed: JobFeed
    points: JobPoints
    logs: JobLogs
    outbox: Outbox
    limits: RequestLimits
    deliveries: Deliveries
    webhook_secrets: WebhookSecrets

    @classmethod
    def create(cls, settings: Settings, queue: JobQueue | None = None) -> Backend:
        """The backend that the settings describe. Nothing is connected to yet.

        Args:
            settings: the settings of the service.
            queue: used in place of the broker that the settings name.
        """
        database, days = Database(settings.database), settings.retention_days
        sender = queue or _celery(settings)
        blobs = open_blobs(settings)
        return cls(
            settings=settings,
            database=database,
            queue=sender,
            blobs=blobs,
            downloads=BlobDownloads(blobs),
            sandbox=Sandbox(_limits(settings)),
            heavy_work=CapacityLimiter(_HEAVY_REQUESTS),
            keys=ApiKeys(database, cache_seconds=settings.auth_cache_seconds),
            idempotency=IdempotencyKeys(database),
            workers=Workers(database),
            live_workers=LiveWorkers(Workers(database), settings.lease_seconds),
            checkpoints=UploadedFiles.checkpoints(database, retention_days=days),
            datasets=UploadedFiles.datasets(database, retention_days=days),
            programs=UploadedFiles.programs(database, retention_days=days),
            uploads=Uploads(database, settings.upload_expiry_seconds),
            partial_files=open_partial_files(settings),
            hashes=RunningHashes(),
            holdings=Holdings(database),
            jobs=Jobs(database, retention_days=days),
            studies=Studies(database, retention_days=days),
            lifecycle=Lifecycle(database),
            events=JobEvents(database),
            requests=RequestCounts(),
            feed=JobFeed(JobChanges(database)),
            points=JobPoints(database),
            logs=JobLogs(database),
            outbox=Outbox(database, sender),
            limits=RequestLimits(
                RequestCounters(settings.broker), settings.requests_per_minute, settings.address_requests_per_minute
            ),
            deliveries=Deliveries(database),
            webhook_secrets=WebhookSecrets(database),
        )

    def close(self) -> None:
        """Close all connections."""
        self.database.close()


def _limits(settings: Settings) -> SandboxLimits:
    return SandboxLimits(memory=settings.box_memory_bytes, seconds=int(settings.box_timeout_seconds) or 1)


def _celery(settings: Settings) -> JobQueue:
    from app.core.celery_queue import CeleryQueue  # slow to import, and tests need no broker

    return CeleryQueue(settings.broker)
