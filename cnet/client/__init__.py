"""The HTTP client of a cnet server: uploads, jobs, events, downloads. Needs neither torch nor a server.

``Client`` blocks, ``AsyncClient`` is for an event loop; both have the same methods.
"""

from cnet.client.async_client import DEFAULT_SERVER, AsyncClient
from cnet.client.client import Client
from cnet.client.errors import (
    ApiError,
    AuthenticationError,
    ClientError,
    ConflictError,
    InvalidRequestError,
    JobFailedError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnreachableError,
    WaitTimeoutError,
)
from cnet.client.handles import Job, Study
from cnet.client.job import FINAL, AsyncJob
from cnet.client.study import AsyncStudy

__all__ = [
    "DEFAULT_SERVER",
    "FINAL",
    "ApiError",
    "AsyncClient",
    "AsyncJob",
    "AsyncStudy",
    "AuthenticationError",
    "Client",
    "ClientError",
    "ConflictError",
    "InvalidRequestError",
    "Job",
    "JobFailedError",
    "NotFoundError",
    "RateLimitError",
    "ServerError",
    "Study",
    "UnreachableError",
    "WaitTimeoutError",
]
