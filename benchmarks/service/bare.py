"""An application with one route that reads one row, for comparison (``python -m benchmarks.service.bare FD``).

It has the engine, the HTTP server and the row of the service, and nothing else: no key, no owner, no other route. Like
the service it writes a line to its log for each request, by uvicorn's own means.
"""

from __future__ import annotations

import socket
import sys
from datetime import datetime
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import bindparam, select

from app.core.db.engine import Database
from app.core.db.tables import jobs
from app.core.settings import Settings


class Row(BaseModel):
    """The columns of a job that clients see."""

    id: str
    name: str | None
    labels: dict[str, str]
    status: str
    phase: str | None
    progress: float
    spec: dict[str, Any]
    created_at: datetime
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime | None
    attempt: int
    error_code: str | None
    error_detail: str | None
    selected: int | None
    worker: str | None
    versions: dict[str, str] | None
    study_id: str | None
    queue: str


def create_app() -> FastAPI:
    """The application, on the database that the settings name."""
    database = Database(Settings().database)
    query = select(jobs).where(jobs.c.id == bindparam("row_id"))  # made once, as that of the service
    app = FastAPI()

    @app.get("/livez")
    def live() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/rows/{row_id}")
    def get(row_id: str) -> Row:
        with database.read() as connection:
            row = connection.execute(query, {"row_id": row_id}).mappings().one()
        return Row(**{name: row[name] for name in Row.model_fields})

    return app


if __name__ == "__main__":
    config = uvicorn.Config("benchmarks.service.bare:create_app", factory=True, http="httptools", loop="asyncio")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
