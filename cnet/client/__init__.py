"""The HTTP client: uploads, jobs, events, downloads. Needs neither torch nor the server's packages."""

from cnet.client.client import FINAL, Client
from cnet.client.errors import ApiError, ClientError, UnreachableError, WaitTimeoutError

__all__ = ["FINAL", "ApiError", "Client", "ClientError", "UnreachableError", "WaitTimeoutError"]
