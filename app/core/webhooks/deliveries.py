"""Deliveries: messages to the webhooks of jobs that have ended.

A delivery is stored in the transaction that ends its job, so it is not lost with a process. Workers send it afterwards.
A process that dies after it has sent a message, and before it has stored that, leaves a message that is sent again with
the same id.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, RowMapping, insert, select, update

from app.core.clock import Clock, rfc3339, utc_now
from app.core.db.engine import Database
from app.core.db.tables import deliveries, jobs
from app.core.ids import new_ids

_BATCH = 500  # jobs whose deliveries are made by one query


class DeliveryState(StrEnum):
    """The state of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True)
class Delivery:
    """A row of ``deliveries``, and the owner of its job.

    Attributes:
        id: of the message, which the receiver sees as ``webhook-id``.
        body: the message as it is sent, JSON.
        attempts: how often it was sent.
        next_at: when it is sent next; None once that is not to be.
        last_at: when it was sent last.
        response_status: HTTP status of the last answer; None where none came.
        error: why the last attempt failed.
    """

    id: str
    job_id: str
    owner: str
    url: str
    host: str
    type: str
    body: str
    state: DeliveryState
    attempts: int
    created_at: datetime
    next_at: datetime | None
    last_at: datetime | None
    response_status: int | None
    error: str | None


@dataclass(frozen=True)
class Result:
    """What an attempt has led to. A delivery that stays pending is sent again at ``next_at``."""

    state: DeliveryState
    response_status: int | None = None
    error: str | None = None
    next_at: datetime | None = None


def add_deliveries(connection: Connection, now: datetime, job_ids: Sequence[str]) -> None:
    """Store a delivery for each of these jobs that names a webhook.

    Args:
        connection: the transaction that has ended the jobs.
        now: the time.
        job_ids: ids of the jobs.
    """
    for start in range(0, len(job_ids), _BATCH):
        ended = select(jobs).where(jobs.c.id.in_(job_ids[start : start + _BATCH])).order_by(jobs.c.id)
        rows = [row for row in connection.execute(ended).mappings() if row["spec"].get("webhook")]
        ids = new_ids("msg", len(rows))
        made = [_new_row(message_id, row, now) for message_id, row in zip(ids, rows, strict=True)]
        if made:
            connection.execute(insert(deliveries), made)


class Deliveries:
    """The deliveries in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def of_job(self, job_id: str) -> list[Delivery]:
        """The deliveries of a job, oldest first."""
        query = _select().where(deliveries.c.job_id == job_id).order_by(deliveries.c.id)
        with self._database.read() as connection:
            return [_delivery(row) for row in connection.execute(query).mappings()]

    def claim_next(self, seconds: float, without: Collection[str] = ()) -> Delivery | None:
        """The delivery that is due for the longest time, counted as sent once more; None where none is due.

        Args:
            seconds: after so many the delivery is due again, unless ``record`` was called.
            without: hosts whose deliveries are left out.
        """
        due = _select().where(deliveries.c.state == DeliveryState.PENDING, deliveries.c.next_at <= self._clock())
        if without:
            due = due.where(deliveries.c.host.not_in(without))
        due = due.order_by(deliveries.c.next_at, deliveries.c.id).limit(1)
        while True:
            with self._database.read() as connection:
                row = connection.execute(due).mappings().first()
            if row is None:
                return None
            now = self._clock()
            values = {
                "attempts": row["attempts"] + 1,
                "last_at": now,
                "next_at": now + timedelta(seconds=seconds),
            }
            with self._database.write() as connection:
                taken = connection.execute(_unchanged(row["id"], row["attempts"]).values(values)).rowcount
            if taken:  # otherwise another worker was faster
                return _delivery({**row, **values})

    def record(self, delivery: Delivery, result: Result) -> bool:
        """Store the result of an attempt. Returns False where another attempt was made meanwhile."""
        with self._database.write() as connection:
            stored = _unchanged(delivery.id, delivery.attempts).values(result.__dict__)
            return bool(connection.execute(stored).rowcount)


def _unchanged(delivery_id: str, attempts: int) -> Any:
    pending = deliveries.c.state == DeliveryState.PENDING
    return update(deliveries).where(deliveries.c.id == delivery_id, deliveries.c.attempts == attempts, pending)


def _select() -> Any:
    return select(deliveries, jobs.c.owner).join(jobs, jobs.c.id == deliveries.c.job_id)


def _delivery(row: RowMapping | dict[str, Any]) -> Delivery:
    return Delivery(**{**row, "state": DeliveryState(row["state"])})


def _new_row(message_id: str, job: RowMapping, now: datetime) -> dict[str, Any]:
    kind, url = f"job.{job['status']}", job["spec"]["webhook"]["url"]
    message = {"type": kind, "timestamp": rfc3339(now), "data": _facts(job)}
    return {
        "id": message_id,
        "job_id": job["id"],
        "url": url,
        "host": (urlsplit(url).hostname or "")[:255],
        "type": kind,
        "body": json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        "state": DeliveryState.PENDING,
        "attempts": 0,
        "created_at": now,
        "next_at": now,
    }


def _facts(job: RowMapping) -> dict[str, Any]:
    """What a message says of a job: its members of these names, without the specification and the results."""
    error = {"code": job["error_code"], "detail": job["error_detail"] or ""} if job["error_code"] else None
    times = {name: rfc3339(job[name]) for name in ("created_at", "started_at", "ended_at")}
    same = {name: job[name] for name in ("id", "owner", "name", "labels", "status", "attempt", "selected")}
    return {**same, "study": job["study_id"], "error": error, **times, "url": f"/v1/jobs/{job['id']}"}
