"""The log of a job: a file for people, appended to by whoever works on the job."""

from __future__ import annotations

from pathlib import Path

from app.core.clock import Clock, rfc3339, utc_now


class JobLog:
    """Lines of text, each of which starts with its time (RFC 3339, UTC)."""

    def __init__(self, path: Path, clock: Clock = utc_now) -> None:
        self.path = path
        self._clock = clock

    def write(self, text: str) -> None:
        """Append ``text``, which may have several lines. One system call: writers do not mix within a line."""
        moment = rfc3339(self._clock())
        lines = "".join(f"{moment} {line}\n" for line in text.splitlines() or [""])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(lines.encode("utf-8", "replace"))
