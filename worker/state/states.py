"""The places where the state of jobs is kept between their attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from app.core.settings import Settings


class JobStates(Protocol):
    """The states of all jobs. A state is the content of the folder in which ``cnet.pipeline.run`` works.

    Every method raises UnavailableError where the store does not answer.
    """

    def restore(self, job_id: str, folder: Path) -> None:
        """Make the folder what the last attempt has left of it; no change where nothing was kept."""

    def keep(
        self, job_id: str, attempt: int, folder: Path, report: Callable[[str], None]
    ) -> AbstractContextManager[None]:
        """Keep the state in the folder while the context lasts, and where it ends because the run was stopped.

        Args:
            job_id: the job.
            attempt: number of the attempt.
            folder: in which the run works. Each file in it is replaced at once, never written in place.
            report: told where the state could not be kept; the run goes on.
        """

    def delete(self, job_id: str) -> None:
        """Forget the state of a job that has ended."""

    def job_ids(self) -> Sequence[str]:
        """The jobs of which there is a state."""


class FolderStates:
    """The states of workers that share the folders of their jobs: they stay where they are."""

    def restore(self, job_id: str, folder: Path) -> None:
        """As ``JobStates.restore``: it is there already."""

    def keep(
        self,
        job_id: str,  # noqa: ARG002 - nothing is to be done for any job
        attempt: int,  # noqa: ARG002
        folder: Path,  # noqa: ARG002
        report: Callable[[str], None],  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """As ``JobStates.keep``: it stays there."""
        return nullcontext()

    def delete(self, job_id: str) -> None:
        """As ``JobStates.delete``: it goes with the folder of the job."""

    def job_ids(self) -> Sequence[str]:
        """As ``JobStates.job_ids``: those are the folders' names, which retention knows."""
        return ()


def open_states(settings: Settings) -> JobStates:
    """The states of the service: in the bucket of its blobs, or in the folders of its jobs."""
    if not settings.blobs_url:
        return FolderStates()
    from app.core.blobs.bucket import S3Bucket  # not needed, and slow to import, for files in a folder
    from worker.state.bucket_states import BucketStates

    return BucketStates(S3Bucket.of(settings), settings.state_seconds)
