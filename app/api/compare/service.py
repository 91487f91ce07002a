"""The points of several jobs in one plot and in one table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from app.api.backend import Backend
from app.api.compare.titles import titles_of
from app.api.http.errors import UnprocessableError
from app.api.jobs.service import get
from app.core.jobs import Job
from app.core.ownership import OwnerFilter
from app.figures import svg
from app.figures.size_accuracy import Series, plot
from cnet.results import report
from cnet.results.points import BaselineResult, Point

MOST_JOBS = 20
Link = Callable[[Job, int], str]
"""The address of a point of a job, by its index."""


def find_jobs(backend: Backend, ids: Sequence[str], owner: OwnerFilter) -> list[Job]:
    """An owner's jobs with these ids, each once.

    Raises:
        UnprocessableError: (``too_many_jobs``) there are more than ``MOST_JOBS``.
        NotFoundError, GoneError: as ``app.api.jobs.service.get``.
    """
    distinct = list(dict.fromkeys(ids))
    if len(distinct) > MOST_JOBS:
        raise UnprocessableError(
            f"jobs: {len(distinct)} are to be compared, and {MOST_JOBS} can be at once. Leave some out.",
            code="too_many_jobs",
        )
    return [get(backend, each, owner) for each in distinct]


def series_of(
    backend: Backend, jobs: Sequence[Job], names: Sequence[str] = (), link: Link | None = None
) -> list[Series]:
    """The points of jobs for a plot.

    Args:
        backend: where the points are stored.
        jobs: the jobs.
        names: of the jobs in the legend; by default titles that tell them apart.
        link: the address of a point; by default points are no links.
    """
    titles = names or titles_of(backend, jobs)
    return [
        Series(
            title,
            BaselineResult.from_json(job.baseline) if job.baseline is not None else None,
            [Point.from_json(row.data) for row in backend.points.of_job(job.id)],
            job.selected,
            link=None if link is None else _link(link, job),
        )
        for title, job in zip(titles, jobs, strict=True)
    ]


def plot_svg(backend: Backend, jobs: Sequence[Job]) -> str:
    """The plot of size against accuracy of several jobs as SVG.

    Raises:
        UnprocessableError: (``no_points``) none of them has a point.
    """
    drawn = plot(series_of(backend, jobs), "Size and score of several jobs")
    if drawn is None:
        raise UnprocessableError(
            "jobs: none of them has a point to plot yet. Wait for the first point, or name other jobs.",
            code="no_points",
        )
    return svg.document(drawn)


def points_csv(backend: Backend, jobs: Sequence[Job]) -> str:
    """The points of several jobs as CSV: id and name of the job, then the columns of a job's own table."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(["job", "name", *report.csv_columns()])
    for job in jobs:
        points = [Point.from_json(row.data) for row in backend.points.of_job(job.id)]
        rows = csv.reader(io.StringIO(report.metrics_csv(points, job.selected), newline=""))
        next(rows)
        table.writerows([job.id, job.name or "", *row] for row in rows)
    return text.getvalue()


def _link(link: Link, job: Job) -> Callable[[int], str]:
    return lambda index: link(job, index)
