"""The log of a job."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from worker.run.job_log import JobLog

TIME = "2026-01-02T03:04:05.000000Z"


@pytest.mark.parametrize(
    ("text", "lines"), [("one", ["one"]), ("one\ntwo\n", ["one", "two"]), ("", [""]), ("é\udcff", ["é?"])]
)
def test_each_line_has_its_time(tmp_path: Path, text: str, lines: list[str]) -> None:
    """Also where a message has several lines, none, or what is no text."""
    log = JobLog(tmp_path / "job" / "log.txt", lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    log.write(text)
    log.write("last")
    assert log.path.read_text("utf-8").splitlines() == [f"{TIME} {line}" for line in [*lines, "last"]]
