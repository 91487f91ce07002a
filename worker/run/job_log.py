"""The log file of a job, written by its supervisor, its runner and the reaper, and shown to users."""

from __future__ import annotations

from pathlib import Path

from app.core.clock import Clock, rfc3339, utc_now


class JobLog:
    """Appends lines of text to a log file. Each line starts with its time (RFC 3339, UTC)."""

    def __init__(self, path: Path, clock: Clock = utc_now) -> None:
        self.path = path
        self._clock = clock

    def write(self, text: str) -> None:
        """Append ``text``, which may have several lines.

        It is written in one system call, so that lines of different processes are not mixed.
        """
        time = rfc3339(self._clock())
        lines = "".join(f"{time} {line}\n" for line in text.splitlines() or [""])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(lines.encode("utf-8", "replace"))
