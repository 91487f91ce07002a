"""The queue over Celery: sends a task's name and a job's id; imports no task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from app.core.errors import UnavailableError
from app.core.queue import QUEUE, RUN_JOB

_SEND_SECONDS = 2.0


def celery_options(broker: str) -> dict[str, Any]:
    """Celery's options, the same on both sides.

    Celery delivers and spreads, the lease in the database recovers (docs/decisions): so early ack, nothing prefetched,
    results ignored, and a lost connection cancels nothing.
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
        "worker_pool": "prefork",  # the supervisor is a process of its own, and its main thread
        "worker_concurrency": 1,  # one job a worker: a job has its GPU and its cores to itself
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
    """``JobQueue`` over a Redis or Valkey broker."""

    def __init__(self, broker: str) -> None:
        self._app = Celery("cnet", set_as_current=False)
        self._app.conf.update(celery_options(broker))

    def send(self, job_id: str) -> None:
        """As ``JobQueue.send``."""
        try:
            with self._connection() as connection:
                self._app.send_task(RUN_JOB, args=(job_id,), queue=QUEUE, retry=False, connection=connection)
        except (OperationalError, RedisError, OSError) as error:
            raise UnavailableError("the queue does not answer") from error

    def depth(self) -> int:
        """As ``JobQueue.depth``."""
        return int(self._ask(lambda client: client.llen(QUEUE)))

    def ping(self) -> None:
        """As ``JobQueue.ping``."""
        self._ask(lambda client: client.ping())

    def close(self) -> None:
        """Close all connections."""
        self._app.close()

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        """The broker's answer to a question to its Redis client."""
        try:
            with self._connection() as connection:
                return question(connection.default_channel.client)
        except (OperationalError, RedisError, OSError) as error:
            raise UnavailableError("the queue does not answer") from error

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """A connection of its own, made now or not at all: one from Celery's pool would keep trying for seconds."""
        with self._app.connection_for_write(connect_timeout=_SEND_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=_SEND_SECONDS)
            yield connection
