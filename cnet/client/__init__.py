"""The HTTP client of a cnet server: uploads, jobs, events, downloads. Needs neither torch nor a server."""

from cnet.client.client import FINAL, Client
from cnet.client.errors import ApiError, ClientError, UnreachableError, WaitTimeoutError

__all__ = ["FINAL", "ApiError", "Client", "ClientError", "UnreachableError", "WaitTimeoutError"]
