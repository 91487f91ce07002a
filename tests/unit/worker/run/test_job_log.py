"""The log of an attempt."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.core.db.engine import Database
from app.core.jobs import Job, JobFolder, JobLogs
from tests.job_logs import log_text
from worker.run.job_log import JobLog

TIME = "2026-01-02T03:04:05.000000Z"


@pytest.fixture
def folder(tmp_path: Path, running: Job) -> JobFolder:
    """The folder of a job."""
    return JobFolder.of(tmp_path / "jobs", running.id)


@pytest.mark.parametrize(
    ("text", "lines"), [("one", ["one"]), ("one\ntwo\n", ["one", "two"]), ("", [""]), ("é\udcff", ["é?"])]
)
def test_each_line_has_its_time(database: Database, folder: JobFolder, text: str, lines: list[str]) -> None:
    """Also where a message has several lines, none, or what is no text."""
    log = JobLog(JobLogs(database), folder, 1, lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    log.write(text)
    log.write("last")
    assert log.path.read_text("utf-8").splitlines() == [f"{TIME} {line}" for line in [*lines, "last"]]


def test_each_byte_is_sent_once(database: Database, folder: JobFolder, running: Job) -> None:
    """Supervisor and runner both send, and libraries write lines of their own to the file."""
    one, other = (JobLog(JobLogs(database), folder, 1) for _ in range(2))
    for log in (one, other, one):
        log.write("a line")
        with log.path.open("a") as file:
            file.write("of a library\n")
        log.send()
        other.send()
    assert log_text(database, running.id) == one.path.read_text()


def test_attempts_follow_each_other(database: Database, folder: JobFolder, running: Job, tmp_path: Path) -> None:
    """In the order in which their lines arrive, from whatever machine."""
    first = JobLog(JobLogs(database), folder, 1)
    second = JobLog(JobLogs(database), JobFolder.of(tmp_path / "another machine", running.id), 2)
    for log in (first, second, first):
        log.write("x")
        log.send()
    assert [line.split()[1] for line in log_text(database, running.id).splitlines()] == ["x", "x", "x"]
    assert first.path.read_text() + second.path.read_text() != log_text(database, running.id)


def test_a_long_log_is_sent_in_parts_up_to_a_limit(database: Database, folder: JobFolder, running: Job) -> None:
    """Its last line says that there is more; the file has all."""
    log = JobLog(JobLogs(database), folder, 1, largest=1_000_000)
    log.path.parent.mkdir(parents=True)
    log.path.write_bytes(b"123456789\n" * 100_010)
    for _ in range(2):
        log.send()
    text = log_text(database, running.id)
    assert text.startswith("123456789\n" * 100_000)
    assert text[1_000_000:].endswith("the log of attempt 1 is too long; the rest is not kept\n")
    assert text.count("too long") == 1


def test_nothing_to_send_costs_nothing(database: Database, folder: JobFolder) -> None:
    """There may not even be a file."""
    log = JobLog(JobLogs(database), folder, 1)
    log.send()
    database.close()
    log.send()
