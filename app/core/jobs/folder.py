"""Where a job's files are, for those who write them and those who show them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JobFolder:
    """The working folder of one job; all of its attempts share it."""

    path: Path

    @classmethod
    def of(cls, jobs_dir: Path, job_id: str) -> JobFolder:
        """The folder of the job ``job_id``; nothing is made."""
        return cls(jobs_dir / job_id)

    @property
    def log(self) -> Path:
        """What happened, for people; appended to."""
        return self.path / "log.txt"

    @property
    def state(self) -> Path:
        """What the next attempt goes on from; gone once the job has ended."""
        return self.path / "state"
