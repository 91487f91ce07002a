"""A job as a handle: its document, and what can be done with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cnet.client.documents import Event, JobDocument
from cnet.client.errors import JobFailedError
from cnet.client.http.download import OnBytes
from cnet.client.results import Metrics, Results

if TYPE_CHECKING:
    from cnet.client.calls.jobs import JobCalls

FINAL = frozenset({"succeeded", "failed", "cancelled", "timed_out"})
"""The statuses of a job that has ended."""

OnEvent = Callable[[Event], Any]
"""Called with each event of a job; an ``AsyncClient`` awaits what it returns, where that can be awaited."""


class AsyncJob(JobDocument):
    """A job on a server: the document of the API, as it was when the server last answered, and actions.

    An action that changes the job updates the document and returns it.
    """

    def __init__(self, document: Mapping[str, Any], calls: JobCalls) -> None:
        super().__init__(document)
        self._calls = calls

    @property
    def ended(self) -> bool:
        """Whether the job has ended, however it ended."""
        return self["status"] in FINAL

    def check(self) -> Self:
        """The job itself, where it has succeeded or not ended. Raises JobFailedError otherwise, with its reason."""
        if not self.ended or self["status"] == "succeeded":
            return self
        raise job_failed(self)

    async def refresh(self) -> Self:
        """The job as it is now."""
        return self._updated(await self._calls.job(self["id"]))

    async def wait(self, *, timeout: float | None = None, on_event: OnEvent | None = None) -> Self:
        """Wait until the job has ended, however it ends.

        Args:
            timeout: how many seconds to wait; None: until it has ended.
            on_event: called with each event of the job from its first one on.

        Raises:
            WaitTimeoutError: it has not ended in time. It goes on.
        """
        return self._updated(await self._calls.wait(self["id"], timeout=timeout, on_event=on_event))

    async def cancel(self) -> Self:
        """Ask the job to end. Raises ConflictError where it has ended."""
        return self._updated(await self._calls.cancel(self["id"]))

    async def retry(self) -> AsyncJob:
        """Queue a new job with the same specification. Raises ConflictError where this one has not ended."""
        return await self._calls.retry(self["id"])

    async def delete(self) -> None:
        """Delete the job and its results; one that has not ended is cancelled."""
        await self._calls.delete_job(self["id"])

    def events(self, *, after: int = 0) -> AsyncIterator[Event]:
        """The events of the job as they happen, those after number ``after``, until it has ended."""
        return self._calls.events(self["id"], after=after)

    async def logs(self, *, start: int = 0) -> str:
        """The log as text, from byte number ``start`` on."""
        return await self._calls.logs(self["id"], start=start)

    def follow_logs(self) -> AsyncIterator[str]:
        """The log as text, piece by piece as it is written, until the job has ended."""
        return self._calls.follow_logs(self["id"])

    async def results(self) -> Results:
        """The points so far."""
        return await self._calls.results(self["id"])

    async def metrics(self) -> Metrics:
        """The points so far, with the metrics of each layer."""
        return await self._calls.metrics(self["id"])

    async def download(self, path: str | Path, *, point: int | None = None, on_progress: OnBytes | None = None) -> str:
        """Write the bundle of a point, by default of the selected one, and return its SHA-256 in hex."""
        return await self._calls.download(self["id"], path, point=point, on_progress=on_progress)

    async def download_model(
        self,
        path: str | Path,
        *,
        format: str = "safetensors",  # noqa: A002 - the name in the HTTP contract
        point: int | None = None,
        on_progress: OnBytes | None = None,
    ) -> str:
        """Write the decoded model of a point, by default of the selected one, and return its SHA-256 in hex."""
        return await self._calls.download_model(self["id"], path, format=format, point=point, on_progress=on_progress)


def job_failed(job: JobDocument) -> JobFailedError:
    """The error for a job that has ended without success."""
    error = job["error"] or {"code": job["status"], "detail": "it was ended before it was done."}
    ended = "was cancelled" if job["status"] == "cancelled" else f"has {job['status'].replace('_', ' ')}"
    return JobFailedError(
        f"job {job['id']} {ended}: {error['detail'].rstrip('.')}. Read its log with Client.logs.",
        code=error["code"],
    )
