"""Health as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class Liveness(BaseModel):
    """The server answers."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """All that the server depends on works."""

    status: Literal["ok"] = "ok"
    checks: dict[str, str] = Field(description="`ok` by what was checked: disk, database, broker.")
    workers: int = Field(description="Workers seen of late.")
