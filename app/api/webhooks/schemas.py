"""The JSON of webhooks."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from app.core.clock import rfc3339
from app.core.webhooks.deliveries import Delivery, DeliveryState
from app.core.webhooks.secrets import WebhookSecret
from cnet.documents import UserDocument
from cnet.parts.validation import parsed


class DeliveryView(BaseModel):
    """A message to the webhook of a job."""

    id: str = Field(description="Id of the message, `msg_...`, which the receiver gets as `webhook-id`.")
    type: str = Field(description="What it tells: `job.` and the status with which the job has ended.")
    url: str = Field(description="URL of the receiver.")
    state: DeliveryState = Field(
        description="`pending` before it is delivered, `delivered` after an answer with a status 2xx, `failed` after "
        "the last attempt or an answer 410."
    )
    attempts: int = Field(description="How often it was sent.")
    created_at: str | None = Field(description="Time at which the job ended.")
    last_at: str | None = Field(description="Time of the last attempt; null before the first.")
    next_at: str | None = Field(description="Time of the next attempt; null once there is none.")
    response_status: int | None = Field(description="HTTP status of the last answer; null where none came.")
    error: str | None = Field(description="Why the last attempt failed; null where it did not.")

    @classmethod
    def of(cls, stored: Delivery) -> Self:
        """The JSON of a stored delivery."""
        same = ("id", "type", "url", "state", "attempts", "response_status", "error")
        times = ("created_at", "last_at", "next_at")
        return cls(
            **{name: getattr(stored, name) for name in same},
            **{name: rfc3339(getattr(stored, name)) for name in times},
        )


class DeliveryList(BaseModel):
    """The messages to the webhook of a job."""

    data: list[DeliveryView] = Field(description="The messages, oldest first; empty before the job has ended.")


class SecretRequest(UserDocument):
    """What is to happen to the secret."""

    change: bool = Field(
        default=False,
        description="Whether to make a new secret. Messages are signed with the old one too, for 24 hours.",
    )

    @classmethod
    def parse(cls, document: Any) -> Self:
        """The request of a JSON value. Raises SpecError."""
        return parsed(cls, document, "the request", code="invalid")


class SecretView(BaseModel):
    """The secret that signs the messages to an owner's webhooks."""

    owner: str = Field(description="The owner.")
    secret: str = Field(description="The secret, `whsec_...`, as libraries of Standard Webhooks take it.")
    created_at: str | None = Field(description="Time at which it was made.")
    previous_until: str | None = Field(
        description="Time until which messages are signed with the secret before it too; null: there was none."
    )

    @classmethod
    def of(cls, stored: WebhookSecret) -> Self:
        """The JSON of a stored secret."""
        return cls(
            owner=stored.owner,
            secret=stored.secret,
            created_at=rfc3339(stored.created_at),
            previous_until=rfc3339(stored.previous_until),
        )
