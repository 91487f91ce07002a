"""Calls for studies: grids of jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cnet.client.calls.base import Calls, owned_by, path_of
from cnet.client.documents import StudyDocument
from cnet.client.errors import WaitTimeoutError
from cnet.client.http.call import Call
from cnet.client.study import AsyncStudy, StudyResults

_POLL_SECONDS = 2.0


class StudyCalls(Calls):
    """Studies of this owner."""

    async def submit_study(self, spec: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> AsyncStudy:
        """Queue one job for each combination of the values of a grid.

        Args:
            spec: a job specification; what the grid sets may be left out.
            grid: values by dotted path into the specification, such as ``{"method.lambda": [0.01, 0.1]}``.
        """
        values = {path: list(each) for path, each in grid.items()}
        return AsyncStudy(await self._post("/v1/studies", {"spec": dict(spec), "grid": values}), self)

    async def study(self, study_id: str) -> AsyncStudy:
        """A study as it is now."""
        return AsyncStudy(await self._get(path_of("studies", study_id)), self)

    async def studies(self, *, owner: str | None = None, limit: int = 50) -> list[AsyncStudy]:
        """The newest ``limit`` studies (of an owner), the newest first, without their members."""
        return [AsyncStudy(each, self) for each in await self._list("/v1/studies", owned_by(owner), limit)]

    async def wait_for_study(
        self, study_id: str, *, timeout: float | None = None, on_change: Callable[[StudyDocument], None] | None = None
    ) -> AsyncStudy:
        """Wait until all jobs of a study have ended.

        Args:
            study_id: the study.
            timeout: how many seconds to wait; None: until all have ended.
            on_change: called with the study as it is, every two seconds.

        Raises:
            WaitTimeoutError: they have not ended in time. They go on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not (study := await self.study(study_id)).ended:
            left = _POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(
                    f"study {study_id}: it has not ended after {timeout:g} s, and goes on. Wait longer, or cancel it."
                )
            if on_change is not None:
                on_change(study)
            await self._transport.connection.sleep(min(left, _POLL_SECONDS))
        return study

    async def study_results(self, study_id: str) -> StudyResults:
        """The points of all jobs of a study so far."""
        return StudyResults(await self._get(f"{path_of('studies', study_id)}/results"))

    async def study_csv(self, study_id: str) -> str:
        """The points of all jobs of a study so far as CSV, one row each."""
        call = Call("GET", f"{path_of('studies', study_id)}/results", headers={"Accept": "text/csv"})
        return (await self._transport.send(call)).text

    async def cancel_study(self, study_id: str) -> AsyncStudy:
        """Cancel all jobs of a study that have not ended. Raises ConflictError where all have."""
        return AsyncStudy(await self._post(f"{path_of('studies', study_id)}/cancel"), self)

    async def retry_study(self, study_id: str) -> AsyncStudy:
        """Run the jobs of a study again that failed. Raises ConflictError where none has."""
        return AsyncStudy(await self._post(f"{path_of('studies', study_id)}/retry"), self)

    async def delete_study(self, study_id: str) -> None:
        """Delete a study with all of its jobs and their results."""
        await self._delete(path_of("studies", study_id))
