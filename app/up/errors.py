"""The error that ends ``cnet up`` and ``cnet demo``."""

from __future__ import annotations

from app.core.errors import ServiceError


class StartError(ServiceError):
    """The service cannot be started, or cannot go on; all of its processes have been ended."""

    default_code = "cannot_start"
