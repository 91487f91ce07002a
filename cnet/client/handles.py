"""Jobs and studies as handles of the client that blocks."""

from __future__ import annotations

from typing import Any, Self

from cnet.client.blocking import Blocking, blocking
from cnet.client.documents import Document, JobDocument, StudyDocument
from cnet.client.job import FINAL, AsyncJob
from cnet.client.study import AsyncStudy


class _Handle(Document, Blocking):
    """A document that is that of its ``core`` after each call."""

    def __init__(self, core: Document) -> None:
        Document.__init__(self, core)
        Blocking.__init__(self, core)

    def _result(self, value: Any) -> Any:
        return self._updated(value) if value is self._core else handle(value)


class Job(_Handle, JobDocument):
    """A job on a server: the document of the API, as it was when the server last answered, and actions.

    An action that changes the job updates the document and returns it.
    """

    @property
    def ended(self) -> bool:
        """Whether the job has ended, however it ended."""
        return self["status"] in FINAL

    def check(self) -> Self:
        """The job itself, where it has succeeded or not ended. Raises JobFailedError otherwise, with its reason."""
        self._core.check()
        return self

    refresh = blocking(AsyncJob.refresh)
    wait = blocking(AsyncJob.wait)
    cancel = blocking(AsyncJob.cancel)
    retry = blocking(AsyncJob.retry)
    delete = blocking(AsyncJob.delete)
    events = blocking(AsyncJob.events)
    logs = blocking(AsyncJob.logs)
    follow_logs = blocking(AsyncJob.follow_logs)
    results = blocking(AsyncJob.results)
    metrics = blocking(AsyncJob.metrics)
    download = blocking(AsyncJob.download)
    download_model = blocking(AsyncJob.download_model)


class Study(_Handle, StudyDocument):
    """A study on a server: the document of the API, as it was when the server last answered, and actions.

    An action that changes the study updates the document and returns it.
    """

    @property
    def ended(self) -> bool:
        """Whether all of its jobs have ended."""
        return self["status"] in FINAL

    refresh = blocking(AsyncStudy.refresh)
    wait = blocking(AsyncStudy.wait)
    cancel = blocking(AsyncStudy.cancel)
    retry = blocking(AsyncStudy.retry)
    delete = blocking(AsyncStudy.delete)
    results = blocking(AsyncStudy.results)


def handle(value: Any) -> Any:
    """The handle that blocks, for a job or a study of a connection that blocks; any other value as it is."""
    if isinstance(value, AsyncJob):
        return Job(value)
    return Study(value) if isinstance(value, AsyncStudy) else value
