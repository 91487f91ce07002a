"""The logs of jobs in the database."""

from __future__ import annotations

import threading

import pytest

from app.core.db.engine import Database
from app.core.errors import NotFoundError
from app.core.jobs import JobLogs, Jobs
from tests.job_logs import log_text
from tests.unit.app.core.manual_clock import ManualClock, new_job

TIME = "2026-01-01T00:00:00.000000Z"


def test_lines_have_the_current_time(database: Database, clock: ManualClock, jobs: Jobs) -> None:
    """They follow what is there."""
    logs, job = JobLogs(database, clock), new_job(jobs)
    logs.send(job.id, 1, lambda sent: b"bytes of an attempt\n"[sent:])
    logs.add(job.id, "one\ntwo")
    assert log_text(database, job.id) == f"bytes of an attempt\n{TIME} one\n{TIME} two\n"


def test_an_attempt_goes_on_where_it_ended(database: Database, jobs: Jobs) -> None:
    """Each attempt has its own position."""
    logs, job = JobLogs(database), new_job(jobs)
    assert logs.send(job.id, 1, lambda sent: b"abc"[sent:]) == 3
    assert logs.send(job.id, 2, lambda sent: b"def"[sent:]) == 3
    assert logs.send(job.id, 1, lambda sent: b"abcxyz"[sent:]) == 6
    assert logs.send(job.id, 1, lambda sent: b"abcxyz"[sent:]) == 6
    assert log_text(database, job.id) == "abcdefxyz"


@pytest.mark.parametrize(("start", "stop"), [(0, 9), (0, 1), (2, 7), (3, 6), (8, 9), (8, 100), (9, 9), (100, 200)])
def test_ranges(database: Database, jobs: Jobs, start: int, stop: int) -> None:
    """They may begin and end within what was sent at once."""
    logs, job = JobLogs(database), new_job(jobs)
    for attempt, data in enumerate([b"abc", b"def", b"ghi"]):
        logs.send(job.id, attempt, lambda sent, data=data: data[sent:])
    assert logs.size(job.id) == 9
    assert b"".join(logs.read(job.id, start, stop)) == b"abcdefghi"[start:stop]


def test_many_processes_append(database: Database, jobs: Jobs) -> None:
    """No line is lost, and no byte is there twice."""
    logs, job = JobLogs(database), new_job(jobs)

    def write(number: int) -> None:
        for _ in range(5):
            logs.add(job.id, str(number))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [line.split()[1] for line in log_text(database, job.id).splitlines()]
    assert sorted(numbers) == sorted(str(number) for number in range(6) for _ in range(5))


def test_a_job_that_does_not_exist(database: Database) -> None:
    """It has no log."""
    logs = JobLogs(database)
    logs.add("job_1", "text")
    with pytest.raises(NotFoundError):
        logs.send("job_1", 1, lambda sent: b"text"[sent:])
    assert logs.size("job_1") == 0
