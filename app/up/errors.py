"""Why the service could not be started."""

from __future__ import annotations

from app.core.errors import ServiceError


class StartError(ServiceError):
    """The service could not be started, or could not go on; nothing of it is left running."""

    default_code = "cannot_start"
