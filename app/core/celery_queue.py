"""The job queue over Celery: sends the name of a task and that of a queue, and imports no task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from celery import Celery
from celery.utils.nodenames import worker_direct
from kombu.entity import Queue
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from app.core.errors import UnavailableError
from app.core.queue import BROKER_SILENT, RUN_NEXT
from app.core.telemetry.origin import Origin

_SEND_SECONDS = 2.0
_PREFIX = "cnet."
ORIGIN_HEADER = "cnet_origin"
"""The header of a message that has the origin of a job."""


def celery_queue_name(queue: str) -> str:
    """The name that a queue has in the broker."""
    return _PREFIX + queue


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
        "task_default_queue": celery_queue_name("cpu"),
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

    def send(self, queue: str, origins: Sequence[Origin]) -> None:
        """Send messages to the workers of a queue, as ``JobQueue.send``."""
        self._send(queue, celery_queue_name(queue), origins)

    def wake(self, worker: str, queue: str) -> None:
        """Send a message to one worker: a job waits in ``queue`` that it can run.

        Args:
            worker: Celery's node name, such as ``worker-1@host``.
            queue: name of the queue.

        Raises:
            UnavailableError: the broker does not answer.
        """
        self._send(queue, worker_direct(worker), [{}])

    def depth(self, queues: Collection[str]) -> int:
        """The number of waiting messages, as ``JobQueue.depth``."""
        names = [celery_queue_name(queue) for queue in queues]
        return int(self._ask(lambda client: sum(client.llen(name) for name in names)))

    def ping(self) -> None:
        """Check that the broker answers, as ``JobQueue.ping``."""
        self._ask(lambda client: client.ping())

    def close(self) -> None:
        """Close all connections."""
        self._app.close()

    def _send(self, queue: str, target: str | Queue, origins: Sequence[Origin]) -> None:
        try:
            with self._connection() as connection, self._app.amqp.Producer(connection) as producer:
                for origin in origins:
                    headers = {ORIGIN_HEADER: dict(origin)}
                    self._app.send_task(
                        RUN_NEXT, args=(queue,), queue=target, retry=False, producer=producer, headers=headers
                    )
        except (OperationalError, RedisError, OSError) as error:
            raise UnavailableError(BROKER_SILENT) from error

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
