"""What a job asks of the worker that runs it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cnet.documents import UserDocument

QUEUE_PATTERN = r"^[a-z][a-z0-9-]{0,30}$"
"""The form of the name of a queue: of the class of jobs that some workers take."""


class Resources(UserDocument):
    """What the worker must have. A server uses it to choose a worker; a job that runs without a server ignores it."""

    gpu: bool | None = Field(
        default=None,
        description="Whether it must have a GPU; null: a job that trains goes to a worker with a GPU where one runs, "
        "other jobs to any.",
    )
    memory: int | None = Field(
        default=None, ge=1, le=2**60, description="Bytes of main memory that it must have; null: any number."
    )
    queue: Annotated[str, Field(pattern=QUEUE_PATTERN)] | None = Field(
        default=None,
        description="Name of the queue, by which an operator tells kinds of workers apart (`CNET_QUEUES`); null: `gpu` "
        "for a job that goes to a worker with a GPU, otherwise `cpu`.",
    )
