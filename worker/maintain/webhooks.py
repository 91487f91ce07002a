"""The sender of webhooks. Every worker runs one in a thread; several at once send each message once."""

from __future__ import annotations

import random
import time
from datetime import timedelta

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.settings import Settings
from app.core.telemetry.logs import get_logger
from app.core.webhooks.deliveries import Deliveries, Delivery, DeliveryState, Result
from app.core.webhooks.posting import Answer, WebhookPoster
from app.core.webhooks.secrets import WebhookSecrets
from app.core.webhooks.signature import signature_headers
from worker.maintain.periodic import Step

log = get_logger(__name__)

_ROUND_SECONDS = 5.0
"""A round ends after so long, since a pool process cannot be started meanwhile."""

_GROWTH = 4.0
_LONGEST_PAUSE = 12 * 3600.0
_GONE = 410


class WebhookSender:
    """Sends the messages that are due.

    Args:
        settings: of the service.
        database: where deliveries and secrets are.
        poster: sends a request; by default as the settings say.
        clock: the time.
    """

    def __init__(
        self, settings: Settings, database: Database, poster: WebhookPoster | None = None, clock: Clock = utc_now
    ) -> None:
        self._settings = settings
        self._deliveries = Deliveries(database, clock)
        self._secrets = WebhookSecrets(database, clock)
        self._clock = clock
        seconds = settings.webhook_timeout_seconds
        self._poster = poster or WebhookPoster(allow_private=settings.webhook_allow_private, timeout_seconds=seconds)

    def steps(self) -> dict[str, Step]:
        """The step of a round, by its name; none where other machines send the messages."""
        return {"send webhooks": self.send_due} if self._settings.webhook_send else {}

    def send_due(self) -> int:
        """Send messages that are due, until none is left or the round's time is up. Returns how many were sent.

        A host that does not accept one gets no other in the same round, so that it keeps none of another host waiting.
        """
        end, refusing, sent = time.monotonic() + _ROUND_SECONDS, set[str](), 0
        while time.monotonic() < end:
            delivery = self._deliveries.claim_next(2 * self._settings.webhook_timeout_seconds, refusing)
            if delivery is None:
                break
            result = self._result(delivery, self._send(delivery))
            self._deliveries.record(delivery, result)
            sent += 1
            if result.state is not DeliveryState.DELIVERED:
                refusing.add(delivery.host)
                log.info("webhook not delivered", delivery=delivery.id, job_id=delivery.job_id, error=result.error)
        return sent

    def _send(self, delivery: Delivery) -> Answer:
        secrets = self._secrets.for_signing(delivery.owner)
        signed = signature_headers(delivery.id, int(self._clock().timestamp()), delivery.body, secrets)
        headers = {"Content-Type": "application/json", "User-Agent": "cnet-webhooks", **signed}
        return self._poster.post(delivery.url, headers, delivery.body.encode())

    def _result(self, delivery: Delivery, answer: Answer) -> Result:
        """What an answer means: 2xx is success, 410 ends the delivery, anything else is tried again up to a limit."""
        status = answer.status
        if status is not None and 200 <= status < 300:
            return Result(DeliveryState.DELIVERED, status)
        error = f"receiver {delivery.host}: {answer.error or f'it answered with the status {status}'}."
        if status == _GONE or delivery.attempts >= self._settings.webhook_attempts:
            return Result(DeliveryState.FAILED, status, f"{error} The message is not sent again.")
        pause = timedelta(seconds=retry_pause(delivery.attempts, self._settings.webhook_retry_seconds))
        return Result(DeliveryState.PENDING, status, f"{error} The message is sent again.", self._clock() + pause)


def retry_pause(attempts: int, first: float) -> float:
    """Seconds until a message is sent again: four times as long after each attempt, at most 12 hours.

    Up to a half of it, at random, is left out, so that messages that failed together do not come together again.

    Args:
        attempts: how often it was sent, at least once.
        first: the longest pause after the first attempt, in seconds.
    """
    longest = min(first * _GROWTH ** min(attempts - 1, 30), _LONGEST_PAUSE)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it
