"""Processes are killed during training, one kind in each test; the job ends as if nothing had happened."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from app.core.jobs import JobEvents
from app.core.workers import Workers
from tests.integration.conftest import LONG, TRAINING
from tests.integration.small_job import submit_weights
from tests.postgres import Cluster
from tests.processes import Service, children_of, kill_now, processes_with, runners_of, service, until


def _resumed_epochs(log: str) -> list[int]:
    return [int(epoch) for epoch in re.findall(r"finetune: resumes after epoch (\d+) of", log)]


def test_a_job_that_nothing_disturbs_ends_with_its_points(running: Service, undisturbed: list[str]) -> None:
    """It goes through all phases, its progress never decreases, and its log can be read."""
    job = running.submit(TRAINING)
    ended = running.ended(job.id)
    assert (ended.status, ended.attempt, ended.progress, ended.selected) == ("succeeded", 1, 1.0, 0)
    assert ended.baseline is not None
    assert set(ended.versions or {}) == {"cnet", "torch", "numpy", "python", "device"}
    events = JobEvents(running.database).after(job.id, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [e.data["status"] for e in events if e.type == "status"] == ["queued", "running", "succeeded"]
    progress = [event.data["progress"] for event in events if event.type == "progress"]
    assert progress == sorted(progress)
    phases = [event.data["phase"] for event in events if event.type == "phase"]
    assert phases[:4] == ["load", "baseline", "finetune", "prune"]
    lines = running.log_of(job.id).splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S", line) for line in lines), lines
    assert not any(str(running.settings.data_dir) in line for line in lines)
    assert running.bundles(job.id) == undisturbed


def test_a_job_survives_a_kill_of_its_runner(running: Service, undisturbed: list[str]) -> None:
    """It soon resumes from the saved state, and gives the same bundle."""
    job = running.submit(TRAINING)
    running.in_epoch(job.id, 4)
    kill_now(running.runner(job.id))
    ended = running.ended(job.id)
    assert (ended.status, ended.attempt) == ("succeeded", 2)
    log = running.log_of(job.id)
    assert "the runner was ended by signal 9 (SIGKILL)" in log
    (epoch,) = _resumed_epochs(log)
    assert 3 <= epoch < 15
    assert running.bundles(job.id) == undisturbed


def test_a_job_survives_a_kill_of_its_worker(undisturbed: list[str]) -> None:
    """Pool process and runner die with the main process; the next worker takes the job up without waiting."""
    with service() as running:  # with its long lease: what saves time here is that the dead worker's lock is free
        running.start_valkey()
        worker = running.start_worker()
        job = running.submit(TRAINING)
        running.in_epoch(job.id, 4)
        left = [*children_of(worker.pid), running.runner(job.id)]
        worker.kill()
        until(lambda: not [pid for pid in left if Path(f"/proc/{pid}/stat").exists()], 10, "the end of its processes")
        running.start_worker()
        ended = running.ended(job.id, seconds=running.settings.lease_seconds - 10)
        assert (ended.status, ended.attempt) == ("succeeded", 2)
        assert len(_resumed_epochs(running.log_of(job.id))) == 1
        assert running.bundles(job.id) == undisturbed


def test_a_job_survives_a_kill_of_a_pool_process(running: Service, tmp_path: Path) -> None:
    """The runner dies with it, the lease runs out, and the worker's next pool process takes the job up."""
    job = running.submit(LONG)
    running.in_epoch(job.id, 1)
    runner = running.runner(job.id)
    parent = int(Path(f"/proc/{runner}/stat").read_text().rpartition(")")[2].split()[1])
    kill_now(parent)
    until(lambda: runner not in runners_of(job.id), 10, "the runner's end")
    until(lambda: running.job(job.id).attempt == 2, 30, "another attempt")
    running.lifecycle.request_cancel(job.id)
    assert running.ended(job.id).status == "cancelled"
    after = submit_weights(running, tmp_path)
    assert running.ended(after.id).status == "succeeded"


def test_jobs_survive_a_kill_of_the_broker(undisturbed: list[str], tmp_path: Path) -> None:
    """The one under way goes on, and the worker takes the next one from the restarted broker."""
    with service() as running:
        broker = running.start_valkey()
        running.start_worker()
        job = running.submit(TRAINING)
        running.in_epoch(job.id, 2)
        broker.kill()
        running.in_epoch(job.id, 5)
        running.start_valkey()
        assert running.ended(job.id).status == "succeeded"
        assert running.job(job.id).attempt == 1
        assert running.bundles(job.id) == undisturbed
        after = submit_weights(running, tmp_path)
        assert running.ended(after.id).status == "succeeded"


def test_a_job_whose_message_is_lost_is_sent_again(tmp_path: Path) -> None:
    """The broker loses all messages before a worker is started."""
    with service() as running:
        broker = running.start_valkey()
        job = submit_weights(running, tmp_path)
        broker.kill()
        for file in (running.settings.valkey_socket.parent / "appendonlydir").iterdir():
            file.unlink()
        running.start_valkey()
        running.start_worker()
        assert running.ended(job.id).status == "succeeded"


def test_a_cancelled_job_ends_soon_and_leaves_no_process(running: Service, tmp_path: Path) -> None:
    """Cancelled in mid-training: over within ten seconds, and the next job runs."""
    job = running.submit(LONG)
    running.in_epoch(job.id, 2)
    asked = time.monotonic()
    assert running.lifecycle.request_cancel(job.id) is not None
    ended = running.ended(job.id, seconds=10)
    assert time.monotonic() - asked < 10
    assert ended.status == "cancelled"
    assert processes_with(job.id) == []
    after = submit_weights(running, tmp_path)
    assert running.ended(after.id).status == "succeeded"


def test_a_runner_that_does_not_react_is_killed(running: Service) -> None:
    """A runner that ignores the signal is killed after the grace period."""
    job = running.submit(LONG)
    running.in_epoch(job.id, 1)
    runner = running.runner(job.id)
    until(lambda: running.stopped_without_a_lock(runner), what="a moment without a transaction")
    running.lifecycle.request_cancel(job.id)
    assert running.ended(job.id, seconds=10).status == "cancelled"
    assert processes_with(job.id) == []


def test_a_job_that_reaches_its_time_limit_ends(running: Service) -> None:
    """Its status, code and detail say why."""
    job = running.submit(LONG, time_limit=1)
    ended = running.ended(job.id)
    assert (ended.status, ended.error_code) == ("timed_out", "time_limit")
    assert "1 seconds" in (ended.error_detail or "")
    assert processes_with(job.id) == []


def test_a_job_that_kills_its_runner_twice_fails_and_blocks_nobody(running: Service, tmp_path: Path) -> None:
    """It fails after two kills without progress, and the next job runs."""
    job = running.submit(LONG)
    first = running.runner(job.id)
    kill_now(first)
    second = until(lambda: [pid for pid in runners_of(job.id) if pid != first], what="the second runner")[0]
    kill_now(second)
    ended = running.ended(job.id)
    assert (ended.status, ended.error_code, ended.attempt) == ("failed", "worker_lost", 2)
    after = submit_weights(running, tmp_path)
    assert running.ended(after.id).status == "succeeded"


def test_a_worker_that_is_told_to_end_hands_its_job_back(undisturbed: list[str]) -> None:
    """No loss is counted, nothing is left running, and the next worker goes on."""
    with service() as running:
        running.start_valkey()
        worker = running.start_worker()
        job = running.submit(TRAINING)
        running.in_epoch(job.id, 4)
        worker.signal(signal.SIGTERM)
        assert worker.wait(15) == 0
        waiting = running.job(job.id)
        assert (waiting.status, waiting.attempt, waiting.lost_attempts) == ("queued", 1, 0)
        assert waiting.ran_seconds > 0
        assert processes_with(job.id) == []
        assert Workers(running.database).alive(600) == []
        running.start_worker()
        ended = running.ended(job.id)
        assert (ended.status, ended.attempt) == ("succeeded", 2)
        assert len(_resumed_epochs(running.log_of(job.id))) == 1
        assert running.bundles(job.id) == undisturbed


def test_a_supervisor_that_wakes_up_too_late_changes_nothing(undisturbed: list[str]) -> None:
    """Its lease has ended and another worker runs the job, so its own runner ends."""
    with service(lease_seconds=3.0) as running:
        running.start_valkey()
        running.start_worker()
        job = running.submit(TRAINING)
        running.in_epoch(job.id, 2)
        first = running.runner(job.id)
        supervisor = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
        until(lambda: running.stopped_without_a_lock(supervisor, first), what="a moment without a transaction")
        running.start_worker("worker-2")
        until(lambda: running.job(job.id).attempt == 2, 30, "another attempt")
        os.kill(first, signal.SIGCONT)
        os.kill(supervisor, signal.SIGCONT)
        until(lambda: first not in runners_of(job.id), 15, "the first runner's end")
        ended = running.ended(job.id)
        assert (ended.status, ended.attempt) == ("succeeded", 2)
        assert running.bundles(job.id) == undisturbed


@pytest.mark.postgres
def test_a_job_survives_a_database_that_drops_its_connections(postgres: Cluster, undisturbed: list[str]) -> None:
    """A PostgreSQL server that restarts ends no job."""
    with service(postgres.fresh_database()) as running:
        running.start_valkey()
        running.start_worker()
        job = running.submit(TRAINING)
        running.in_epoch(job.id, 2)
        with postgres.connect() as connection:
            others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {others}")  # waits for their ends
        ended = running.ended(job.id)
        assert (ended.status, ended.attempt) == ("succeeded", 1)
        assert running.bundles(job.id) == undisturbed
