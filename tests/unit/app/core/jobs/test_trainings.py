"""Which job of a study trains what several of them need."""

from __future__ import annotations

from typing import Any

from app.core.blobs.references import digests_in_use
from app.core.db.engine import Database
from app.core.jobs import End, Job, Lifecycle, NewJob, SharedTraining, Studies, Trainings
from app.core.jobs.studies import NewStudy
from app.core.states import Status

KEY = "finetune-" + "0" * 64
BLOB = "b" * 64


def running_study(database: Database, count: int = 2) -> list[Job]:
    """The running jobs of a new study."""
    members = [NewJob("local", {}, 60)] * count
    _, made = Studies(database).create(NewStudy("local", None, {}, {}, {}), members, lambda *_: None)
    return [run(database, job) for job in made]


def run(database: Database, job: Job) -> Job:
    """The job, claimed by a worker."""
    claimed = Lifecycle(database).claim(job.id, "host:1:worker-1", 60)
    assert claimed is not None
    return claimed


def accept(_: Any) -> None:
    """The blob is there."""


def test_one_job_trains_and_the_others_find_its_weights(database: Database) -> None:
    """The claim of the first one stands, also when it asks again."""
    first, second = running_study(database)
    trainings = Trainings(database)

    assert trainings.claim(first, KEY) == SharedTraining(first.id, None)
    assert trainings.claim(first, KEY) == SharedTraining(first.id, None)
    assert trainings.claim(second, KEY) == SharedTraining(first.id, None)
    assert (trainings.holds(first, KEY), trainings.holds(second, KEY)) == (True, False)
    assert not trainings.publish(second, KEY, BLOB, accept)
    assert trainings.publish(first, KEY, BLOB, accept)

    assert trainings.claim(second, KEY) == SharedTraining(first.id, BLOB)
    assert not trainings.holds(first, KEY)
    assert digests_in_use(database) == {BLOB}


def test_studies_share_nothing(database: Database) -> None:
    """Two owners never see each other's weights."""
    (first,), (second,) = running_study(database, 1), running_study(database, 1)

    assert Trainings(database).claim(first, KEY) == SharedTraining(first.id, None)
    assert Trainings(database).claim(second, KEY) == SharedTraining(second.id, None)


def test_another_job_takes_over_where_the_one_that_trained_ended(database: Database) -> None:
    """Also where it runs again, in another attempt: then it waits in its turn."""
    first, second, third = running_study(database, 3)
    trainings, lifecycle = Trainings(database), Lifecycle(database)
    trainings.claim(first, KEY)

    lifecycle.finish(first.id, first.attempt, End(Status.FAILED, "x", "y"))
    assert trainings.claim(second, KEY) == SharedTraining(second.id, None)

    lifecycle.hand_back(second.id, second.attempt)
    assert trainings.claim(third, KEY) == SharedTraining(third.id, None)
    assert trainings.claim(run(database, second), KEY) == SharedTraining(third.id, None)


def test_weights_that_are_lost_are_trained_again(database: Database) -> None:
    """The row is released, and the next one claims it."""
    first, second = running_study(database)
    trainings = Trainings(database)
    trainings.claim(first, KEY)
    trainings.publish(first, KEY, BLOB, accept)

    trainings.release(KEY, str(first.study_id), "c" * 64)
    assert trainings.claim(second, KEY) == SharedTraining(first.id, BLOB)
    trainings.release(KEY, str(first.study_id), BLOB)
    assert trainings.claim(second, KEY) == SharedTraining(second.id, None)


def test_trainings_are_forgotten_with_the_last_job(database: Database) -> None:
    """As long as one job has not ended they stay."""
    first, second = running_study(database)
    trainings = Trainings(database)
    trainings.claim(first, KEY)
    trainings.publish(first, KEY, BLOB, accept)

    Lifecycle(database).finish(first.id, first.attempt, End(Status.SUCCEEDED, selected=0))
    trainings.forget_ended()
    assert digests_in_use(database) == {BLOB}

    Lifecycle(database).finish(second.id, second.attempt, End(Status.SUCCEEDED, selected=0))
    trainings.forget_ended()
    assert digests_in_use(database) == set()
