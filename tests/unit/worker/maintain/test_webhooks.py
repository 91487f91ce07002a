"""Messages reach a receiver over HTTP: signed, repeated until they are accepted, at least once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from standardwebhooks import Webhook

from app.core.clock import utc_now
from app.core.db.engine import Database
from app.core.jobs import Job, Jobs, Lifecycle, NewJob
from app.core.jobs.lifecycle import End
from app.core.settings import Settings
from app.core.states import Status
from app.core.webhooks.deliveries import Deliveries, Delivery
from app.core.webhooks.secrets import WebhookSecrets
from tests.receiver import receiver
from tests.unit.app.core.manual_clock import ManualClock
from worker.maintain.webhooks import WebhookSender, retry_pause


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still, at the true time, which signatures need."""
    return ManualClock(utc_now())


@pytest.fixture
def sender(settings: Settings, database: Database, clock: ManualClock) -> WebhookSender:
    """A sender that may use addresses of this machine."""
    private = settings.model_copy(update={"webhook_allow_private": True, "webhook_attempts": 4})
    return WebhookSender(private, database, clock=clock)


def ended(database: Database, clock: ManualClock, url: str) -> Job:
    """A job with a webhook that has succeeded."""
    lifecycle = Lifecycle(database, clock)
    job = Jobs(database, clock).create(NewJob("ann", {"webhook": {"url": url}}, 100, name="caf\u00e9"))
    lifecycle.claim(job.id, "worker", 60)
    lifecycle.finish(job.id, 1, End(Status.SUCCEEDED, selected=0))
    return job


def delivery_of(database: Database, job: Job) -> Delivery:
    """The delivery of a job."""
    (found,) = Deliveries(database).of_job(job.id)
    return found


def test_a_message_is_signed_as_the_standard_says(
    sender: WebhookSender, database: Database, clock: ManualClock
) -> None:
    """The library of Standard Webhooks verifies it with the owner's secret, and refuses it with another."""
    with receiver() as target:
        job = ended(database, clock, target.url())
        assert sender.send_due() == 1
    (request,) = target.received
    secrets = WebhookSecrets(database)
    message = Webhook(secrets.of("ann").secret).verify(request.body, request.headers)
    assert (message["type"], message["data"]["id"], message["data"]["name"]) == ("job.succeeded", job.id, "caf\u00e9")
    assert request.headers["webhook-id"] == delivery_of(database, job).id
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(secrets.of("bob").secret).verify(request.body, request.headers)
    assert (delivery_of(database, job).state, delivery_of(database, job).response_status) == ("delivered", 204)
    assert sender.send_due() == 0


def test_a_message_is_signed_with_the_old_secret_too(
    sender: WebhookSender, database: Database, clock: ManualClock
) -> None:
    """After a change, receivers that know one of the two accept it."""
    secrets = WebhookSecrets(database, clock)
    old, new = secrets.of("ann").secret, secrets.change("ann").secret
    with receiver() as target:
        ended(database, clock, target.url())
        sender.send_due()
    for secret in (old, new):
        assert Webhook(secret).verify(target.received[0].body, target.received[0].headers)


def test_a_message_is_repeated_until_it_is_accepted(
    sender: WebhookSender, database: Database, clock: ManualClock
) -> None:
    """The receiver fails twice, then works. It is the same message under the same id, signed with the new time."""
    with receiver([500, 503, 200]) as target:
        job = ended(database, clock, target.url())
        for _ in range(3):
            assert sender.send_due() == 1
            assert sender.send_due() == 0  # not before its pause has passed
            clock.pass_time(12 * 3600)
    assert len(target.received) == 3
    assert len({request.headers["webhook-id"] for request in target.received}) == 1
    assert len({request.body for request in target.received}) == 1
    assert len({request.headers["webhook-timestamp"] for request in target.received}) == 3
    found = delivery_of(database, job)
    assert (found.state, found.attempts, found.error, found.next_at) == ("delivered", 3, None, None)


def test_a_receiver_that_always_fails_is_given_up(
    sender: WebhookSender, database: Database, clock: ManualClock
) -> None:
    """After the last attempt; why stays readable."""
    with receiver([500]) as target:
        job = ended(database, clock, target.url())
        for _ in range(6):
            sender.send_due()
            clock.pass_time(12 * 3600)
    assert len(target.received) == 4
    found = delivery_of(database, job)
    assert (found.state, found.response_status, found.next_at) == ("failed", 500, None)
    assert "500" in str(found.error)


def test_gone_ends_a_delivery(sender: WebhookSender, database: Database, clock: ManualClock) -> None:
    """410 means that nobody wants the message."""
    with receiver([410]) as target:
        job = ended(database, clock, target.url())
        sender.send_due()
        clock.pass_time(12 * 3600)
        sender.send_due()
    assert len(target.received) == 1
    assert delivery_of(database, job).state == "failed"


def test_a_redirect_to_a_private_address_is_not_followed(
    sender: WebhookSender, database: Database, clock: ManualClock
) -> None:
    """It is no success, and nothing is sent there."""
    with receiver() as private, receiver([302], private.url()) as target:
        job = ended(database, clock, target.url())
        sender.send_due()
    assert (len(target.received), private.received) == (1, [])
    assert (delivery_of(database, job).state, delivery_of(database, job).response_status) == ("pending", 302)


def test_a_private_address_gets_nothing_by_default(settings: Settings, database: Database, clock: ManualClock) -> None:
    """Whatever was true when the job was submitted."""
    with receiver() as target:
        job = ended(database, clock, target.url("localhost"))
        WebhookSender(settings, database, clock=clock).send_due()
    assert target.received == []
    assert "public internet" in str(delivery_of(database, job).error)


def test_a_machine_that_may_not_send_claims_nothing(settings: Settings, database: Database) -> None:
    """It has no step that sends, so a message waits for a machine that has one."""
    silent = settings.model_copy(update={"webhook_send": False})
    assert WebhookSender(silent, database).steps() == {}
    assert list(WebhookSender(settings, database).steps()) == ["send webhooks"]


def test_a_message_outlives_the_process_that_should_send_it(
    settings: Settings, database: Database, clock: ManualClock
) -> None:
    """A process that dies while it sends leaves the message to the next one, which sends it with the same id."""
    with receiver() as target:
        ended(database, clock, target.url())
        interrupted = Deliveries(Database(settings.database), clock).claim_next(20)  # its process dies now
        clock.pass_time(21)
        restarted = WebhookSender(
            settings.model_copy(update={"webhook_allow_private": True}), Database(settings.database), clock=clock
        )
        assert restarted.send_due() == 1
    assert interrupted is not None
    assert target.received[0].headers["webhook-id"] == interrupted.id


def test_a_host_that_fails_keeps_no_other_waiting(
    sender: WebhookSender, database: Database, clock: ManualClock
) -> None:
    """It gets one message in a round; the others wait for the next round."""
    with receiver([500]) as failing, receiver() as working:
        for _ in range(5):
            ended(database, clock, failing.url("127.0.0.1"))
        job = ended(database, clock, working.url("localhost"))
        sender.send_due()
    assert len(failing.received) == 1
    assert delivery_of(database, job).state == "delivered"


def test_pauses_grow_to_a_limit() -> None:
    """Each is random between a half and the whole of a longest one."""
    longest = [max(retry_pause(attempts, 5.0) for _ in range(50)) for attempts in range(1, 20)]
    assert all(after >= before / 2 for before, after in pairwise(longest))
    assert 2.5 <= longest[0] <= 5.0
    assert 12 * 3600 / 2 <= longest[-1] <= 12 * 3600


def test_times_are_those_of_the_end(sender: WebhookSender, database: Database, clock: ManualClock) -> None:
    """However late the message is sent."""
    with receiver() as target:
        job = ended(database, clock, target.url())
        at = clock.now
        clock.pass_time(100)
        sender.send_due()
    message = json.loads(target.received[0].body)
    assert datetime.fromisoformat(message["timestamp"]).astimezone(UTC) == at
    assert message["data"]["ended_at"] == message["timestamp"]
    assert message["data"]["url"] == f"/v1/jobs/{job.id}"
