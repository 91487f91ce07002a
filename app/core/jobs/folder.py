"""The paths of a job's files, for workers that write them and for the API that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JobFolder:
    """The working folder of one job, which all attempts to run it share."""

    path: Path

    @classmethod
    def of(cls, jobs_dir: Path, job_id: str) -> JobFolder:
        """The folder of the job ``job_id``. It is not created."""
        return cls(jobs_dir / job_id)

    @property
    def log(self) -> Path:
        """The log file, to which the workers append."""
        return self.path / "log.txt"

    @property
    def state(self) -> Path:
        """The folder with the state that the next attempt resumes from; deleted when the job has ended."""
        return self.path / "state"
