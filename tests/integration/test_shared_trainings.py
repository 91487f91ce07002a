"""Jobs of a study that have their training in common, on real workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select

from app.core.celery_queue import CeleryQueue
from app.core.db.tables import shared_trainings
from app.core.jobs import Job, JobEvents, NewJob, Studies
from app.core.jobs.studies import NewStudy
from app.core.outbox import Outbox
from cnet.spec import JobSpec
from tests.integration.conftest import TRAINING
from tests.processes import Service, has_pending, until


def submit_study(running: Service, specs: Sequence[dict[str, Any]]) -> list[Job]:
    """A study with these jobs, stored and sent as the API does."""
    members = [NewJob("local", JobSpec.parse(spec).to_json(), 600) for spec in specs]
    _, made = Studies(running.database).create(NewStudy("local", None, {}, {}, {}), members, lambda *_: None)
    queue = CeleryQueue(running.settings.broker)
    try:
        Outbox(running.database, queue).publish()
    finally:
        queue.close()
    return made


def trained_phases(running: Service, job: Job) -> set[str]:
    """The phases of which a job has reported epochs."""
    events = JobEvents(running.database).after(job.id, 0, 100_000)
    return {event.data["metric"]["phase"] for event in events if event.type == "metric"}


def trainer_of(running: Service, made: Sequence[Job], name: str) -> str | None:
    """The one of some jobs that trains, or has trained, what is named so."""
    of_these = shared_trainings.c.job_id.in_([job.id for job in made])
    query = select(shared_trainings.c.job_id).where(of_these, shared_trainings.c.key.startswith(name))
    with running.database.read() as connection:
        return connection.execute(query).scalar()


@pytest.mark.timeout(600)
def test_the_second_job_takes_over_the_training_of_the_first(running: Service, undisturbed: list[str]) -> None:
    """It trains nothing before pruning, and its bundle is that of a job outside a study."""
    other = {**TRAINING, "quantize": {"name": "kmeans", "clusters": [4]}}
    first, second = submit_study(running, [other, TRAINING])

    for job in (first, second):
        assert running.ended(job.id, 300).status == "succeeded", running.log_of(job.id)

    assert {"baseline", "finetune"} <= trained_phases(running, first)
    assert not {"baseline", "finetune"} & trained_phases(running, second)
    assert "weights of a run with the same training are taken over" in running.log_of(second.id)
    assert running.bundles(second.id) == undisturbed


@pytest.mark.timeout(900)
def test_another_job_trains_when_the_one_that_trains_is_cancelled(running: Service, undisturbed: list[str]) -> None:
    """One job trains, the other, on another worker, waits until the first is cancelled, and makes the same bundle."""
    jobs = submit_study(running, [TRAINING, TRAINING])
    trainer = until(lambda: trainer_of(running, jobs, "finetune"), 300, "a training")
    (waiting,) = [job for job in jobs if job.id != trainer]
    runner = running.runner(trainer)
    until(lambda: running.stopped_without_a_lock(runner), what="a moment without a transaction")

    running.start_worker("worker-2")
    until(lambda: "this job waits for its weights" in running.log_of(waiting.id), 300, "the other job waits")
    assert running.lifecycle.request_cancel(trainer) is not None
    until(lambda: has_pending(runner, signal.SIGTERM), what="the signal that ends the training")
    os.kill(runner, signal.SIGCONT)

    assert running.ended(waiting.id, 600).status == "succeeded", running.log_of(waiting.id)
    assert running.ended(trainer, 60).status == "cancelled"
    assert "finetune" in trained_phases(running, waiting)
    assert running.bundles(waiting.id) == undisturbed
