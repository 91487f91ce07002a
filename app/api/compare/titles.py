"""Titles of jobs that stand beside each other: two jobs of one name can be told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from app import formatting
from app.api.backend import Backend
from app.api.studies.grid import values_at
from app.core.jobs import Job


def titles_of(backend: Backend, jobs: Sequence[Job]) -> list[str]:
    """A title for each of an owner's jobs: its name, the values of its place in a study, its id where both are shared.

    A job without a name has its id for one, shortened as on the pages.
    """
    of_studies = {(job.study_id, job.owner) for job in jobs if job.study_id is not None}
    found = {study_id: backend.studies.get(study_id, owner) for study_id, owner in of_studies}
    grids = {study_id: study.grid for study_id, study in found.items() if study is not None}
    titles = [_title(job, grids.get(job.study_id or "")) for job in jobs]
    count = Counter(titles)
    return [
        title if count[title] == 1 else f"{title} ({formatting.short_id(job.id)})"
        for job, title in zip(jobs, titles, strict=True)
    ]


def values_text(values: Mapping[str, Any]) -> str:
    """The values of a place in a grid, such as ``method.lambda 0.01, training.seed 0``."""
    return ", ".join(f"{path} {formatting.plain(value)}" for path, value in values.items())


def _title(job: Job, grid: Mapping[str, Sequence[Any]] | None) -> str:
    name = job.name or formatting.short_id(job.id)
    return f"{name}: {values_text(values_at(grid, job.study_index or 0))}" if grid else name
