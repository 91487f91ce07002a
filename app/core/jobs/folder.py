"""The paths of a job's files on the machine of its worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JobFolder:
    """The working folder of one job. Attempts on the same machine share it."""

    path: Path

    @classmethod
    def of(cls, jobs_dir: Path, job_id: str) -> JobFolder:
        """The folder of the job ``job_id``. It is not created."""
        return cls(jobs_dir / job_id)

    def log(self, attempt: int) -> Path:
        """The log file of an attempt. Number 0 is the one that attempts shared before logs were in the database."""
        return self.path / (f"log-{attempt}.txt" if attempt else "log.txt")

    def logged_attempts(self) -> list[int]:
        """The attempts whose log files are here, in ascending order."""
        names = [path.stem.removeprefix("log").removeprefix("-") for path in self.path.glob("log*.txt")]
        return sorted(int(name or 0) for name in names)

    @property
    def state(self) -> Path:
        """The folder with the state that the next attempt resumes from; deleted when the job has ended."""
        return self.path / "state"
