"""The JSON of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, JsonValue

from app.api.jobs.schemas import JobError
from app.api.results.schemas import Results
from app.api.studies.grid import values_at
from app.core.clock import rfc3339
from app.core.jobs import Job
from app.core.jobs.studies import Study, StudyState
from app.core.states import Status
from cnet.documents import UserDocument

GridPath = Annotated[str, Field(min_length=1, max_length=200)]


class StudyRequest(UserDocument):
    """A study: a job specification, and the fields of it that vary."""

    spec: dict[str, Any] = Field(
        description="A job specification (`JobSpec`), as for `POST /v1/jobs`. What the grid sets may be left out.",
    )
    grid: dict[GridPath, Annotated[list[JsonValue], Field(min_length=1)]] = Field(
        max_length=16,
        description="Values by dotted path into the specification, such as `method.lambda`. There is one job for each "
        "combination; the last path varies fastest.",
        json_schema_extra={"example": {"method.lambda": [0.01, 0.1], "training.seed": [0, 1, 2]}},
    )


class StudyUrls(BaseModel):
    """Paths of the routes of a study."""

    self: str = Field(description="The study.")
    jobs: str = Field(description="Its jobs, also those that were replaced by a retry.")
    results: str = Field(description="The points of all of its jobs.")
    cancel: str = Field(description="Cancelling it, by POST.")
    retry: str = Field(description="Running its failed jobs again, by POST.")

    @classmethod
    def of(cls, study_id: str) -> StudyUrls:
        """The paths for a study with this id."""
        base = f"/v1/studies/{study_id}"
        own = {name: f"{base}/{name}" for name in ("results", "cancel", "retry")}
        return cls.model_validate({"self": base, "jobs": f"/v1/jobs?study={study_id}", **own})


class JobCounts(BaseModel):
    """Number of jobs of a study, by status. A job that was retried counts once."""

    total: int = Field(description="All of them.")
    queued: int = Field(default=0, description="Those that wait for a worker.")
    running: int = Field(default=0, description="Those that run.")
    cancelling: int = Field(default=0, description="Those whose worker is asked to stop.")
    succeeded: int = Field(default=0, description="Those that have ended with a selected point.")
    failed: int = Field(default=0, description="Those that have ended with an error.")
    cancelled: int = Field(default=0, description="Those that were cancelled.")
    timed_out: int = Field(default=0, description="Those that reached their time limit.")


class StudySummary(BaseModel):
    """A study, without its jobs."""

    id: str = Field(description="Id of the study, `study_...`.")
    owner: str = Field(description="Owner of the study.")
    name: str | None = Field(description="Name from its specification.")
    labels: dict[str, str] = Field(description="Labels from its specification.")
    status: Status = Field(
        description="`queued` before the first job runs, then `running`; at the end `succeeded` where all jobs have, "
        "`failed` where one has not, `cancelled` where the rest was cancelled."
    )
    progress: float = Field(description="Mean progress of its jobs, 0 to 1. A job that has ended counts as done.")
    jobs: JobCounts = Field(description="Number of its jobs, by status.")
    spec: dict[str, Any] = Field(description="The specification as it was sent.")
    grid: dict[str, list[Any]] = Field(description="The values of the fields that vary, as they were sent.")
    created_at: str | None = Field(description="Time of submission.")
    started_at: str | None = Field(description="Time at which its first job began; null before that.")
    ended_at: str | None = Field(description="Time at which its last job ended; null until then.")
    expires_at: str | None = Field(description="Time after which the server deletes the study; null: never.")
    urls: StudyUrls = Field(description="Paths of its routes.")

    @classmethod
    def of(cls, study: Study, state: StudyState, **more: Any) -> Self:
        """The JSON of a stored study."""
        return cls(
            id=study.id,
            owner=study.owner,
            name=study.name,
            labels=study.labels,
            status=state.status,
            progress=state.progress,
            jobs=JobCounts(total=sum(state.counts.values()), **state.counts),
            spec=study.spec,
            grid=study.grid,
            created_at=rfc3339(study.created_at),
            started_at=rfc3339(state.started_at),
            ended_at=rfc3339(state.ended_at),
            expires_at=rfc3339(study.expires_at),
            urls=StudyUrls.of(study.id),
            **more,
        )


class StudyMember(BaseModel):
    """One place of the grid, and the job that runs it."""

    index: int = Field(description="Place in the grid, from 0.")
    values: dict[str, Any] = Field(description="The value of each path at this place.")
    job: str = Field(description="Id of the job; after a retry, of the newest one.")
    status: Status = Field(description="Status of the job.")
    phase: str | None = Field(description="What the job is doing; null before it ran.")
    progress: float = Field(description="Share of the job's work that is done, 0 to 1.")
    error: JobError | None = Field(description="Why the job failed; null unless it failed.")

    @classmethod
    def facts(cls, study: Study, job: Job) -> dict[str, Any]:
        """The values of the fields for a job of a study."""
        index = job.study_index or 0
        error = JobError(code=job.error_code, detail=job.error_detail or "") if job.error_code else None
        same = {name: getattr(job, name) for name in ("status", "phase", "progress")}
        return {"index": index, "values": values_at(study.grid, index), "job": job.id, "error": error, **same}


class StudyView(StudySummary):
    """A study and its jobs."""

    members: list[StudyMember] = Field(description="The jobs in the order of the grid.")

    @classmethod
    def made(cls, study: Study, state: StudyState, members: Sequence[Job]) -> Self:
        """The JSON of a stored study with its jobs."""
        return cls.of(study, state, members=[StudyMember(**StudyMember.facts(study, job)) for job in members])


class StudyList(BaseModel):
    """A page of studies, newest first."""

    data: list[StudySummary] = Field(description="The studies of this page.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")


class MemberResults(Results):  # type: ignore[misc, valid-type] # made from the declared metrics
    """The results of one job of a study."""

    index: int = Field(description="Place in the grid, from 0.")
    values: dict[str, Any] = Field(description="The value of each path at this place.")
    job: str = Field(description="Id of the job.")
    status: Status = Field(description="Status of the job.")
    error: JobError | None = Field(description="Why the job failed; null unless it failed.")


class StudyResults(BaseModel):
    """The points of all jobs of a study so far."""

    grid: dict[str, list[Any]] = Field(description="The values of the fields that vary.")
    members: list[MemberResults] = Field(description="The jobs in the order of the grid, each with its points.")
