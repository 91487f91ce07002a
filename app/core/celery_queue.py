"""The job queue over Celery: sends the name of a task and the id of a job, and imports no task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from app.core.errors import UnavailableError
from app.core.queue import BROKER_SILENT, QUEUE, RUN_JOB

_SEND_SECONDS = 2.0


def celery_options(broker: str) -> dict[str, Any]:
    """Celery's options, the same for the sender and for the workers.

    Celery delivers messages, and the lease in the database recovers lost jobs (docs/decisions/0002). Messages are
    therefore acknowledged early, none is prefetched, results are ignored, and a lost connection cancels no task.
    """
    return {
        "broker_url": broker,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": 3600,
            "socket_keepalive": True,
            "socket_timeout": 10.0,
            "socket_connect_timeout": _SEND_SECONDS,
            "health_check_interval": 30,
        },
        "task_default_queue": QUEUE,
        "task_acks_late": False,
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_pool": "prefork",  # the supervisor needs a process of its own, and runs in its main thread
        "worker_concurrency": 1,  # one job for each worker, so that a job has its GPU and cores to itself
        "worker_disable_prefetch": True,
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        "worker_soft_shutdown_timeout": 0.0,
        "enable_utc": True,
    }


class CeleryQueue:
    """A ``JobQueue`` over a Redis or Valkey broker."""

    def __init__(self, broker: str) -> None:
        self._app = Celery("cnet", set_as_current=False)
        self._app.conf.update(celery_options(broker))

    def send(self, job_id: str) -> None:
        """Send the id of a job, as ``JobQueue.send``."""
        try:
            with self._connection() as connection:
                self._app.send_task(RUN_JOB, args=(job_id,), queue=QUEUE, retry=False, connection=connection)
        except (OperationalError, RedisError, OSError) as error:
            raise UnavailableError(BROKER_SILENT) from error

    def depth(self) -> int:
        """The number of waiting messages, as ``JobQueue.depth``."""
        return int(self._ask(lambda client: client.llen(QUEUE)))

    def ping(self) -> None:
        """Check that the broker answers, as ``JobQueue.ping``."""
        self._ask(lambda client: client.ping())

    def close(self) -> None:
        """Close all connections."""
        self._app.close()

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        """The result of ``question``, called with a Redis client of the broker. Raises UnavailableError."""
        try:
            with self._connection() as connection:
                return question(connection.default_channel.client)
        except (OperationalError, RedisError, OSError) as error:
            raise UnavailableError(BROKER_SILENT) from error

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """A new connection, not one of Celery's pool, which would keep trying for many seconds."""
        with self._app.connection_for_write(connect_timeout=_SEND_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=_SEND_SECONDS)
            yield connection
