"""The Celery application of the workers: ``python -m celery -A worker.celery_app worker -n NAME@%h``.

The queues are those of ``CNET_QUEUES``, not those of the option ``-Q``: by default they depend on the machine.
"""

from __future__ import annotations

from celery import Celery

from app.core.celery_queue import celery_options
from app.core.settings import Settings
from worker.host.celery_signals import CeleryWorker


def _make_app(settings: Settings) -> Celery:
    celery = Celery("cnet")
    celery.conf.update(celery_options(settings.broker), imports=("worker.tasks",))
    return celery


settings = Settings()
celery_worker = CeleryWorker(settings)
celery_worker.connect()
app = _make_app(settings)
