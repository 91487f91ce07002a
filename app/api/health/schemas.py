"""The JSON of health checks."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class Liveness(BaseModel):
    """The server runs."""

    status: Literal["ok"] = Field(default="ok", description="Always `ok`.")


class Readiness(BaseModel):
    """The server can take jobs."""

    status: Literal["ok"] = Field(default="ok", description="Always `ok`; otherwise the answer is `503`.")
    checks: dict[str, str] = Field(description="`ok` for each of disk, database, blobs and broker.")
    workers: int = Field(description="Number of workers that run now.")
