"""A prefix of an S3 bucket: objects by their keys. Credentials come from the usual variables of AWS.

These are ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and ``AWS_SESSION_TOKEN``, those of a web identity or of a
container, or the role of the machine; ``obstore`` reads them. A request that fails for a reason that may pass is
repeated by it with growing pauses.

A process that was forked cannot use a bucket that its parent has used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Self
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from app.core.blobs.base import STORE_SILENT, not_found
from app.core.errors import ServiceError, StorageFullError, UnavailableError
from app.core.settings import Settings
from app.core.telemetry.logs import get_logger

if TYPE_CHECKING:
    from obstore.store import S3Config

log = get_logger(__name__)

PART_BYTES = 8 * 2**20
"""Size of the ranges in which an object is read, and the least size of the parts in which it is written."""

_MOST_PARTS = 9_000  # S3 allows 10,000 parts of an upload
_AT_ONCE = 4  # parts that are written, or ranges that are copied, at the same time
_REQUEST_SECONDS = 30
_MOST_RETRIES = 1000  # their time is limited instead: a server that refuses connections uses up many in a second
_FULL = ("StorageFull", "QuotaExceeded", "507 Insufficient Storage")
_REFUSED = ("401 Unauthorized", "403 Forbidden")


@dataclass(frozen=True)
class StoredObject:
    """Key, size in bytes, and time of the last write of an object."""

    key: str
    size: int
    modified_at: datetime


class S3Bucket:
    """A prefix of a bucket. Every method raises UnavailableError where the server does not answer.

    Args:
        store: the bucket and the prefix.
        public: the same by the address that clients use.
    """

    def __init__(self, store: S3Store, public: S3Store) -> None:
        self._store = store
        self._public = public

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The prefix that ``blobs_url`` names. Nothing is connected to yet."""
        public = settings.blobs_public_endpoint or settings.blobs_endpoint
        return cls(_store(settings, settings.blobs_endpoint), _store(settings, public))

    def put(self, key: str, content: BinaryIO, size: int) -> None:
        """Write an object of ``size`` bytes, completely or not at all; large ones in several parts at once."""
        part = max(PART_BYTES, -(-size // _MOST_PARTS))
        with _translated_errors():
            obstore.put(self._store, key, content, chunk_size=part, max_concurrency=_AT_ONCE)

    def put_bytes(self, key: str, content: bytes) -> None:
        """Write a small object by one request."""
        with _translated_errors():
            obstore.put(self._store, key, content, use_multipart=False)

    def read(self, key: str, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to ``stop`` (exclusive) in ranges, each by a request of its own.

        A request that is cut off is repeated, and a slow reader keeps no connection open.
        """
        return (self._range(key, *bounds) for bounds in _ranges(start, stop))

    def copy(self, key: str, size: int, target: BinaryIO) -> None:
        """Write an object of ``size`` bytes to ``target``, several ranges at once."""
        bounds = _ranges(0, size)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="s3") as pool:
            ahead: deque[Future[bytes]] = deque(pool.submit(self._range, key, *one) for one in islice(bounds, _AT_ONCE))
            while ahead:
                target.write(ahead.popleft().result())
                ahead.extend(pool.submit(self._range, key, *one) for one in islice(bounds, 1))

    def stat(self, key: str) -> StoredObject:
        """Size and age of an object. Raises NotFoundError."""
        with _translated_errors():
            found = obstore.head(self._store, key)
        return StoredObject(key, found["size"], found["last_modified"])

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, where they exist."""
        with _translated_errors():
            for key in keys:
                obstore.delete(self._store, key)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects whose keys begin with ``prefix`` and a slash, in the order of the keys."""
        with _translated_errors():
            for batch in obstore.list(self._store, prefix, chunk_size=1000):
                yield from (StoredObject(one["path"], one["size"], one["last_modified"]) for one in batch)

    def folders(self, prefix: str) -> Sequence[str]:
        """The next parts of the keys that begin with ``prefix`` and a slash and have another slash after it."""
        with _translated_errors():
            found = obstore.list_with_delimiter(self._store, prefix)["common_prefixes"]
        return [folder.rstrip("/").rpartition("/")[2] for folder in found]

    def link(self, key: str, seconds: int) -> str:
        """A URL from which anybody can read the object for so many seconds."""
        with _translated_errors():
            return obstore.sign(self._public, "GET", key, timedelta(seconds=seconds))

    def ping(self) -> None:
        """Check that the server answers, knows the bucket, and accepts the credentials."""
        with _translated_errors():
            next(iter(obstore.list(self._store, "ping", chunk_size=1)), None)

    def _range(self, key: str, start: int, stop: int) -> bytes:
        with _translated_errors():
            return bytes(obstore.get_range(self._store, key, start=start, end=stop))


def _store(settings: Settings, endpoint: str) -> S3Store:
    url = urlsplit(settings.blobs_url)
    if endpoint and not settings.blobs_path_style:
        host = urlsplit(endpoint)
        endpoint = host._replace(netloc=f"{url.netloc}.{host.netloc}").geturl()
    config: S3Config = {
        "bucket": url.netloc,
        "region": settings.blobs_region,
        "virtual_hosted_style_request": not settings.blobs_path_style,
    }
    if endpoint:
        config["endpoint"] = endpoint.rstrip("/")
    return S3Store(
        config=config,
        prefix=url.path.strip("/") or None,
        client_options={"allow_http": endpoint.startswith("http:"), "timeout": timedelta(seconds=_REQUEST_SECONDS)},
        retry_config={
            "max_retries": _MOST_RETRIES,
            "retry_timeout": timedelta(seconds=settings.blobs_retry_seconds),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=2),
                "base": 2,
            },
        },
    )


def _ranges(start: int, stop: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + PART_BYTES, stop)) for first in range(start, stop, PART_BYTES))


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise the errors of ``obstore`` as ours. What the server said is written to the log, for whoever runs it."""
    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        raise _translated(error) from error


def _translated(error: BaseError | FileNotFoundError) -> ServiceError:
    """Our error for one of ``obstore``, which tells some causes only by the server's words."""
    said = str(error).partition("\n")[0]
    if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in said:
        return not_found()
    log.warning("the blob store refused a request", said=said)
    if any(word in said for word in _FULL):
        return StorageFullError("the server's store: no space is left in it. Free some space, then try again.")
    if "NoSuchBucket" in said:
        return UnavailableError("blob store: its bucket does not exist. Check CNET_BLOBS_URL.")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or any(word in said for word in _REFUSED):
        return UnavailableError(
            "blob store: it refuses the server's credentials. Check AWS_ACCESS_KEY_ID and its permissions."
        )
    return UnavailableError(STORE_SILENT)
