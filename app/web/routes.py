"""All pages and static files, to be added to an application."""

from __future__ import annotations

from fastapi import FastAPI

from app.web.pages import compare, job, jobs, keys, new_job, reference, session, studies, system
from app.web.static_files import static_mount


def add_pages(app: FastAPI) -> None:
    """Add the routes of all pages and of the static files."""
    for page in (jobs, new_job, job, compare, studies, system, keys, session, reference):
        app.routes.extend(page.router.routes)
    app.router.routes.append(static_mount())
