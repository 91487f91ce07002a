"""A program as the architecture of a job: which program, and what it is trained for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, PlainValidator, field_serializer

from cnet.documents import UserDocument
from cnet.parts.registry import OneOf
from cnet.training.tasks.task import TASKS, Task

DEFAULT_TASK = "classification"
"""The task of a program where the job names none."""


def _checked_output(value: Any) -> int | str | None:
    """The number or name of an output. Raises ValueError."""
    if value is None or (type(value) is int and 0 <= value < 2**31) or (type(value) is str and value):
        return value
    raise ValueError("output: it is no number from 0 and no name. Give the number or the name of an output.")


OutputChoice = Annotated[int | str | None, PlainValidator(_checked_output, json_schema_input_type=int | str | None)]


class ProgramArchitecture(UserDocument):
    """A network of the user's own: a program, and what it is trained for."""

    model_config = ConfigDict(defer_build=True)  # as of ``JobSpec``

    program: str = Field(min_length=1, max_length=4096, description="Id of the program.")
    task: Annotated[Task, OneOf(TASKS, bare_names=True)] = Field(
        default_factory=lambda: TASKS.create(DEFAULT_TASK),
        description="What the network learns from the data set, and is judged by: the name of one of `tasks` in the "
        f"catalogue, or an object with its name and parameters. Default: {DEFAULT_TASK}.",
    )
    output: OutputChoice = Field(
        default=None,
        description="Number of the output that is used, from 0, or its name; null: the only one that fits the task.",
    )

    @field_serializer("task")
    def _plain_task(self, task: Task) -> str | dict[str, Any]:
        """The bare name of a task with default parameters, else the object."""
        return task.name if task == TASKS.create(task.name) else task.model_dump(mode="json", by_alias=True)
