"""The log of an attempt: a file to which its supervisor, its runner and the runner's libraries append.

Writing to it needs no database. What it holds is sent to the database, where users read it, by every process that
calls ``send``.
"""

from __future__ import annotations

from app.core.clock import Clock, utc_now
from app.core.jobs import JobFolder
from app.core.jobs.logs import JobLogs, log_lines

LARGEST_LOG = 16 * 2**20
"""How many bytes of the log of one attempt are sent. The file holds the rest."""

_SENT_BYTES = 2**18  # at once


class JobLog:
    """Appends lines to the log file of an attempt, each after its time, and sends them to the database.

    Args:
        logs: in the database.
        folder: of the job, which has its id for a name.
        attempt: number of the attempt.
        clock: for the time of each line.
        largest: how many bytes are sent.
    """

    def __init__(
        self, logs: JobLogs, folder: JobFolder, attempt: int, clock: Clock = utc_now, *, largest: int = LARGEST_LOG
    ) -> None:
        self.path = folder.log(attempt)
        self._largest = largest
        self._logs = logs
        self._job_id = folder.path.name
        self._attempt = attempt
        self._clock = clock
        self._sent = 0

    def write(self, text: str) -> None:
        """Append ``text``, which may have several lines.

        It is written in one system call, so that lines of different processes are not mixed.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(log_lines(text, self._clock))

    def send(self) -> None:
        """Send what is in the file and not in the database. Costs no transaction where that is nothing."""
        size = self.path.stat().st_size if self.path.exists() else 0
        while self._sent < min(size, self._largest):
            self._sent = self._logs.send(self._job_id, self._attempt, self._read)
            if self._sent == self._largest < size:
                self._logs.add(self._job_id, f"the log of attempt {self._attempt} is too long; the rest is not kept")

    def _read(self, start: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(min(_SENT_BYTES, self._largest - start))
