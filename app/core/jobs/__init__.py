"""Jobs in the database: their records, queries, state changes, events and points."""

from app.core.jobs.changes import JobChange, JobChanges, JobHead
from app.core.jobs.events import Event, JobEvents
from app.core.jobs.folder import JobFolder
from app.core.jobs.job import Job, NewJob
from app.core.jobs.lifecycle import End, Lease, Lifecycle
from app.core.jobs.logs import JobLogs
from app.core.jobs.points import JobPoints, PointRow
from app.core.jobs.store import Jobs
from app.core.jobs.studies import Studies
from app.core.jobs.trainings import SharedTraining, Trainings

__all__ = [
    "End",
    "Event",
    "Job",
    "JobChange",
    "JobChanges",
    "JobEvents",
    "JobFolder",
    "JobHead",
    "JobLogs",
    "JobPoints",
    "Jobs",
    "Lease",
    "Lifecycle",
    "NewJob",
    "PointRow",
    "SharedTraining",
    "Studies",
    "Trainings",
]
