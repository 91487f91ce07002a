"""A study as a handle: its document, and what can be done with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from cnet.client.documents import Document, JobError, StudyDocument
from cnet.client.job import FINAL
from cnet.client.results import Results, table_of

if TYPE_CHECKING:
    import pandas as pd

    from cnet.client.calls.studies import StudyCalls


class MemberResults(Results):
    """The points of one job of a study, and its place in the grid."""

    index: int
    job: str
    status: str
    error: JobError | None

    @property
    def place(self) -> dict[str, Any]:
        """The value of each path of the grid for this job."""
        return dict(self["values"])

    @property
    def label(self) -> str:
        """The place as text, such as ``method.lambda=0.1 training.seed=2``."""
        return " ".join(f"{path}={json.dumps(value)}" for path, value in self.place.items())


class StudyResults(Document):
    """The points of all jobs of a study so far; the JSON of the API, with typed objects as properties."""

    grid: dict[str, list[Any]]

    @property
    def members(self) -> list[MemberResults]:
        """The results of each job, in the order of the grid."""
        return [MemberResults(each) for each in self["members"]]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each point: the values of the grid, the job, and the columns of the CSV.

        Raises:
            ClientError: (``not_installed``) pandas is not installed.
        """
        from cnet.results.report import table_rows

        return table_of(
            [
                {**member.place, "job": member.job, **row}
                for member in self.members
                for row in table_rows(member.points, member.selected)
            ]
        )


class AsyncStudy(StudyDocument):
    """A study on a server: the document of the API, as it was when the server last answered, and actions.

    An action that changes the study updates the document and returns it.
    """

    def __init__(self, document: Mapping[str, Any], calls: StudyCalls) -> None:
        super().__init__(document)
        self._calls = calls

    @property
    def ended(self) -> bool:
        """Whether all of its jobs have ended."""
        return self["status"] in FINAL

    async def refresh(self) -> Self:
        """The study as it is now."""
        return self._updated(await self._calls.study(self["id"]))

    async def wait(self, *, timeout: float | None = None) -> Self:
        """Wait until all of its jobs have ended. Raises WaitTimeoutError after ``timeout`` seconds."""
        return self._updated(await self._calls.wait_for_study(self["id"], timeout=timeout))

    async def cancel(self) -> Self:
        """Cancel all jobs that have not ended. Raises ConflictError where all have."""
        return self._updated(await self._calls.cancel_study(self["id"]))

    async def retry(self) -> Self:
        """Run the jobs again that failed. Raises ConflictError where none has."""
        return self._updated(await self._calls.retry_study(self["id"]))

    async def delete(self) -> None:
        """Delete the study with all of its jobs and their results."""
        await self._calls.delete_study(self["id"])

    async def results(self) -> StudyResults:
        """The points of all of its jobs so far."""
        return await self._calls.study_results(self["id"])
