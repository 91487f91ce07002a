"""Calls for jobs."""

from __future__ import annotations

import codecs
import inspect
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from cnet.client.calls.base import path_of
from cnet.client.calls.results import ResultCalls
from cnet.client.documents import Delivery, Event, Validation, WebhookSecret
from cnet.client.errors import ApiError, ClientError, WaitTimeoutError
from cnet.client.http.call import Call, may_succeed_later, pause_after
from cnet.client.job import FINAL, AsyncJob, OnEvent

_LONGEST_WAIT = 30.0  # seconds of one waiting request; the server allows 60
_POLL_SECONDS = 1.0  # the longest wait between two looks for events
_LONGEST_BREAK = 10.0  # seconds before the stream is asked for again, unless the server says another time
_MOST_BREAKS = 8  # how often in a row the stream of events may break without an event


class JobCalls(ResultCalls):
    """Jobs of this owner."""

    async def validate(self, spec: Mapping[str, Any]) -> Validation:
        """Check a job specification and estimate what the job would need; nothing is queued."""
        return Validation(await self._post("/v1/jobs:validate", spec))

    async def submit(self, spec: Mapping[str, Any]) -> AsyncJob:
        """Queue a job. However often the request has to be sent, there is one job."""
        return AsyncJob(await self._post("/v1/jobs", spec), self)

    async def job(self, job_id: str, *, wait: float = 0) -> AsyncJob:
        """A job as it is now; with ``wait``, after its next change or after so many seconds (at most 60)."""
        params = {"wait": f"{wait:g}"} if wait else {}
        return AsyncJob(await self._get(path_of("jobs", job_id), params, timeout=60.0 + wait), self)

    async def jobs(
        self,
        *,
        status: str | None = None,
        checkpoint: str | None = None,
        label: str | None = None,
        owner: str | None = None,
        limit: int = 50,
    ) -> list[AsyncJob]:
        """The newest ``limit`` jobs, the newest first.

        Args:
            status: only jobs in this state.
            checkpoint: only jobs that compress this checkpoint.
            label: only jobs with this label: ``key`` or ``key:value``.
            owner: only jobs of this owner. An administrator's key lists those of all owners, any other its own.
            limit: how many jobs at most.
        """
        filters = {"status": status, "checkpoint": checkpoint, "label": label, "owner": owner}
        params = {name: value for name, value in filters.items() if value is not None}
        return [AsyncJob(each, self) for each in await self._list("/v1/jobs", params, limit)]

    async def wait(self, job_id: str, *, timeout: float | None = None, on_event: OnEvent | None = None) -> AsyncJob:
        """Wait until a job has ended, however it ends, and return it.

        Args:
            job_id: the job.
            timeout: how many seconds to wait; None: until it has ended.
            on_event: called with each event of the job from its first one on.

        Raises:
            WaitTimeoutError: it has not ended in time. It goes on.
        """
        if on_event is not None and timeout is None:
            async for event in self.events(job_id):
                await _tell(on_event, event)
            return await self.job(job_id)
        deadline = None if timeout is None else time.monotonic() + timeout
        longest = _LONGEST_WAIT if on_event is None else _POLL_SECONDS
        seen, job = 0, await self.job(job_id)
        while True:
            for event in await self.event_list(job_id, after=seen) if on_event is not None else ():
                seen = event["id"]
                await _tell(on_event, event)
            if job["status"] in FINAL:
                return job
            left = longest if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(
                    f"job {job_id}: it has not ended after {timeout:g} s, and goes on. Wait longer, or cancel it."
                )
            job = await self.job(job_id, wait=min(left, longest))

    async def events(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """The job's events as they happen, those after number ``after``, until the job has ended.

        A connection that breaks is made again: no event is lost, and none comes twice.
        """
        last, breaks = after, 0
        while True:
            try:
                async for event in self._events_once(job_id, last):
                    last, breaks = event["id"], 0
                    yield event
                    if event["type"] == "status" and event["status"] in FINAL:
                        return
                breaks += 1
                if breaks > 1 and (await self.job(job_id))["status"] in FINAL:
                    return
                pause = min(pause_after(breaks), _LONGEST_BREAK)
            except ClientError as error:
                breaks += 1
                if breaks > _MOST_BREAKS or not may_succeed_later(error):
                    raise
                told = isinstance(error, ApiError) and error.retry_after is not None
                pause = pause_after(breaks, error) if told else min(pause_after(breaks), _LONGEST_BREAK)
            await self._transport.connection.sleep(pause)

    async def deliveries(self, job_id: str) -> list[Delivery]:
        """The messages to the job's webhook: whether they were delivered, and why not."""
        document = await self._get(f"{path_of('jobs', job_id)}/deliveries")
        return [Delivery(each) for each in document["data"]]

    async def webhook_secret(self, *, change: bool = False) -> WebhookSecret:
        """The secret that signs the messages to the webhooks of your jobs.

        Args:
            change: make a new one first. Messages are signed with the old one too, for 24 hours.
        """
        return WebhookSecret(await self._post("/v1/webhooks/secret", {"change": change}))

    async def event_list(self, job_id: str, *, after: int = 0) -> list[Event]:
        """The job's events so far, those after number ``after``."""
        found: list[Event] = []
        more = True
        while more:
            call = Call(
                "GET",
                f"{path_of('jobs', job_id)}/events",
                params={"after": str(found[-1]["id"] if found else after)},
                headers={"Accept": "application/json"},
            )
            page = await self._transport.document(call)
            found += [Event(each) for each in page["data"]]
            more = page["has_more"]
        return found

    async def logs(self, job_id: str, *, start: int = 0) -> str:
        """The job's log as text, from byte number ``start`` on."""
        return (await self._log(job_id, start)).decode("utf-8", "replace")

    async def follow_logs(self, job_id: str) -> AsyncIterator[str]:
        """The job's log as text, piece by piece as it is written, until the job has ended."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start, job = 0, await self.job(job_id)
        while True:
            content = await self._log(job_id, start)
            start += len(content)
            if content:
                yield decoder.decode(content)
            if job.ended:
                return
            job = await self.job(job_id, wait=_POLL_SECONDS)

    async def cancel(self, job_id: str) -> AsyncJob:
        """Ask a job to end. Raises ConflictError where it has ended."""
        return AsyncJob(await self._post(f"{path_of('jobs', job_id)}/cancel"), self)

    async def retry(self, job_id: str) -> AsyncJob:
        """Queue a new job with the specification of one that has ended. Raises ConflictError where it has not."""
        return AsyncJob(await self._post(f"{path_of('jobs', job_id)}/retry"), self)

    async def delete_job(self, job_id: str) -> None:
        """Delete a job and its results; one that has not ended is cancelled."""
        await self._delete(path_of("jobs", job_id))

    async def _log(self, job_id: str, start: int) -> bytes:
        headers = {"Range": f"bytes={start}-"} if start else {}
        try:
            response = await self._transport.send(Call("GET", f"{path_of('jobs', job_id)}/logs", headers=headers))
        except ClientError as error:
            if start and error.code == "range_not_satisfiable":  # nothing was written since
                return b""
            raise
        return response.content

    async def _events_once(self, job_id: str, last: int) -> AsyncIterator[Event]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
        async with self._transport.stream(
            Call("GET", f"{path_of('jobs', job_id)}/events", headers=headers)
        ) as response:
            async for message in self._transport.connection.events(response):
                document = message.json() if message.data else None
                if isinstance(document, dict):
                    yield Event(document)


async def _tell(on_event: OnEvent | None, event: Event) -> None:
    told = on_event(event) if on_event is not None else None
    if inspect.isawaitable(told):
        await told
