"""The catalogue: all parts that a job can name, and the limits of this server."""

from __future__ import annotations

from typing import Any

from app.core.settings import Settings
from cnet.catalogue import describe_parts


def catalogue(settings: Settings) -> dict[str, Any]:
    """The document of ``GET /v1/catalogue``. Raises PluginError where an installed plug-in is broken."""
    return {
        **describe_parts(),
        "limits": {
            "max_upload_bytes": settings.max_upload_bytes,
            "max_json_bytes": settings.max_json_bytes,
            "max_active_jobs": settings.max_active_jobs,
            "max_wait_seconds": 60,
            "max_page": 200,
            "time_limit_seconds": settings.time_limit_seconds,
            "retention_days": settings.retention_days,
        },
    }
