"""Deliveries are made with the end of a job, and claimed by one sender at a time."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from app.core.db.engine import Database
from app.core.jobs import Job, Jobs, Lifecycle, NewJob, Studies
from app.core.jobs.lifecycle import End
from app.core.jobs.studies import NewStudy
from app.core.states import Status
from app.core.webhooks.deliveries import Deliveries, DeliveryState, Result
from tests.unit.app.core.manual_clock import ManualClock

HOOK = {"webhook": {"url": "https://hooks.example.org/cnet"}}


@pytest.fixture
def deliveries(database: Database, clock: ManualClock) -> Deliveries:
    """The deliveries."""
    return Deliveries(database, clock)


def hooked(jobs: Jobs, spec: dict[str, object] | None = None) -> Job:
    """A queued job with a webhook."""
    return jobs.create(NewJob("ann", spec or HOOK, 100, name="mine", labels={"team": "vision"}))


def succeed(lifecycle: Lifecycle, job: Job) -> None:
    """Run the job to its end."""
    lifecycle.claim(job.id, "worker", 60)
    lifecycle.finish(job.id, 1, End(Status.SUCCEEDED, selected=0))


def fail(lifecycle: Lifecycle, job: Job) -> None:
    """Let the job fail."""
    lifecycle.claim(job.id, "worker", 60)
    lifecycle.finish(job.id, 1, End(Status.FAILED, "no_memory", "too large"))


def cancel_queued(lifecycle: Lifecycle, job: Job) -> None:
    """Cancel the job before it runs."""
    lifecycle.request_cancel(job.id)


def lose(lifecycle: Lifecycle, job: Job) -> None:
    """Lose its only worker."""
    claimed = lifecycle.claim(job.id, "worker", 60)
    assert claimed is not None
    lifecycle.recover(claimed, 1, holder=True)


def hand_back_cancelled(lifecycle: Lifecycle, job: Job) -> None:
    """Let its worker shut down while it is cancelling."""
    lifecycle.claim(job.id, "worker", 60)
    lifecycle.request_cancel(job.id)
    lifecycle.hand_back(job.id, 1)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (succeed, "job.succeeded"),
        (fail, "job.failed"),
        (cancel_queued, "job.cancelled"),
        (lose, "job.failed"),
        (hand_back_cancelled, "job.cancelled"),
    ],
)
def test_each_end_of_a_job_makes_one_delivery(
    jobs: Jobs, lifecycle: Lifecycle, deliveries: Deliveries, end: Callable[[Lifecycle, Job], None], kind: str
) -> None:
    """Its message has the type, the time and the facts of the job."""
    job = hooked(jobs)
    end(lifecycle, job)
    (made,) = deliveries.of_job(job.id)
    message = json.loads(made.body)
    assert (made.type, made.state, made.attempts, made.url) == (kind, "pending", 0, HOOK["webhook"]["url"])
    assert set(message) == {"type", "timestamp", "data"}
    assert (message["type"], f"job.{message['data']['status']}") == (kind, kind)
    assert (message["data"]["id"], message["data"]["labels"]) == (job.id, {"team": "vision"})
    assert (message["data"]["error"] is not None) == (kind == "job.failed")


def test_a_job_without_a_webhook_makes_no_delivery(jobs: Jobs, lifecycle: Lifecycle, deliveries: Deliveries) -> None:
    """Nor does one that only stops and is queued again."""
    plain, again = hooked(jobs, {"checkpoint": "ckpt_1"}), hooked(jobs)
    succeed(lifecycle, plain)
    lifecycle.claim(again.id, "worker", 60)
    lifecycle.hand_back(again.id, 1)
    assert deliveries.of_job(plain.id) == []
    assert deliveries.of_job(again.id) == []


def test_each_job_of_a_study_makes_one_delivery(database: Database, clock: ManualClock, deliveries: Deliveries) -> None:
    """Also where the study is cancelled."""
    studies = Studies(database, clock)
    members = [NewJob("ann", HOOK, 100)] * 3
    study, made = studies.create(NewStudy("ann", None, {}, {}, {}), members, lambda *_: None)
    studies.cancel(study.id)
    for job in made:
        (delivery,) = deliveries.of_job(job.id)
        assert json.loads(delivery.body)["data"]["study"] == study.id


def test_an_end_that_is_rolled_back_makes_no_delivery(jobs: Jobs, lifecycle: Lifecycle, deliveries: Deliveries) -> None:
    """A run that has lost its lease ends nothing."""
    job = hooked(jobs)
    lifecycle.claim(job.id, "worker", 60)
    assert not lifecycle.finish(job.id, 7, End(Status.SUCCEEDED))
    assert deliveries.of_job(job.id) == []


def test_a_delivery_is_claimed_once(jobs: Jobs, lifecycle: Lifecycle, deliveries: Deliveries) -> None:
    """Until its sender is late; then it is claimed again under the same id."""
    succeed(lifecycle, hooked(jobs))
    first = deliveries.claim_next(20)
    assert first is not None
    assert deliveries.claim_next(20) is None


def test_a_delivery_whose_sender_died_is_claimed_again(
    jobs: Jobs, lifecycle: Lifecycle, deliveries: Deliveries, clock: ManualClock
) -> None:
    """What the first sender reports later changes nothing."""
    succeed(lifecycle, hooked(jobs))
    first = deliveries.claim_next(20)
    clock.pass_time(21)
    second = deliveries.claim_next(20)
    assert first is not None
    assert second is not None
    assert (second.id, second.body, second.attempts) == (first.id, first.body, 2)
    assert not deliveries.record(first, Result(DeliveryState.FAILED))
    assert deliveries.record(second, Result(DeliveryState.DELIVERED, 204))
    assert deliveries.claim_next(20) is None


def test_a_claim_can_leave_out_hosts(jobs: Jobs, lifecycle: Lifecycle, deliveries: Deliveries) -> None:
    """A receiver that does not answer keeps none of another host waiting."""
    succeed(lifecycle, hooked(jobs))
    succeed(lifecycle, hooked(jobs, {"webhook": {"url": "https://other.example.org/"}}))
    found = deliveries.claim_next(20, {"hooks.example.org"})
    assert found is not None
    assert found.host == "other.example.org"
