"""A blob store in an S3 bucket, with a cache of the blobs that are lent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.core.blobs.base import BlobInfo, is_digest
from app.core.blobs.bucket import S3Bucket, StoredObject
from app.core.blobs.cache import FileCache
from app.core.errors import NotFoundError, StorageFullError
from cnet.files import disk_full_detail, file_sha256, is_disk_full, read_chunks

_FOLDER = "blobs"


class S3Blobs:
    """One object for each blob. S3 shows an object only when all of it is written.

    Parts of an upload that a crash interrupted are not listed by S3; a lifecycle rule of the bucket removes them.

    Args:
        bucket: where the blobs are.
        cache: keeps copies of those that are lent.
        scratch: folder for temporary files.
        link_seconds: for how long the links to downloads are valid; 0: there are none.
    """

    def __init__(self, bucket: S3Bucket, cache: FileCache, scratch: Path, link_seconds: int = 0) -> None:
        self._link_seconds = link_seconds
        self._bucket = bucket
        self._cache = cache
        self._scratch = scratch

    def put(self, content: BinaryIO) -> str:
        """As ``BlobStore.put``. The digest decides the key, so a stream is written to a temporary file first."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryFile(dir=self._scratch) as copy:
                for chunk in read_chunks(content):
                    copy.write(chunk)
                return self._put(copy)
        except OSError as error:
            if is_disk_full(error):
                raise StorageFullError(disk_full_detail("the file on its way to the store", "try again")) from error
            raise

    def put_file(self, source: Path) -> str:
        """As ``BlobStore.put_file``."""
        with source.open("rb") as content:
            return self._put(content)

    def adopt(self, source: Path, digest: str) -> None:
        """As ``BlobStore.adopt``."""
        with source.open("rb") as content:
            self._put(content, digest)

    def read(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """As ``BlobStore.read``."""
        size = self.stat(digest).size
        yield from self._bucket.read(_key(digest), start, size if stop is None else min(stop, size))

    def stat(self, digest: str) -> BlobInfo:
        """As ``BlobStore.stat``."""
        return _info(self._bucket.stat(_key(digest)))

    @contextmanager
    def lend(self, digest: str) -> Iterator[Path]:
        """As ``BlobStore.lend``."""
        size = self.stat(digest).size
        with self._cache.lend(digest, size, lambda target: self._bucket.copy(_key(digest), size, target)) as path:
            yield path

    def link(self, digest: str) -> str | None:
        """As ``BlobStore.link``."""
        return self._bucket.link(_key(digest), self._link_seconds) if self._link_seconds else None

    def delete(self, digest: str) -> None:
        """As ``BlobStore.delete``."""
        self._bucket.delete([_key(digest)])

    def list(self) -> Iterator[BlobInfo]:
        """As ``BlobStore.list``."""
        return (info for info in map(_info, self._bucket.list(_FOLDER)) if is_digest(info.digest))

    def remove_unfinished(self, before: datetime) -> None:
        """As ``BlobStore.remove_unfinished``: the bucket's lifecycle rule does it."""

    def ping(self) -> None:
        """As ``BlobStore.ping``."""
        self._bucket.ping()

    def _put(self, content: BinaryIO, digest: str | None = None) -> str:
        """Store a file. ``digest`` is its digest where the caller has computed it."""
        digest, size = digest or file_sha256(content), os.fstat(content.fileno()).st_size
        try:
            if self.stat(digest).size == size:
                return digest
        except NotFoundError:
            pass
        content.seek(0)
        self._bucket.put(_key(digest), content, size)
        return digest


def _key(digest: str) -> str:
    return f"{_FOLDER}/{digest[:2]}/{digest}"


def _info(found: StoredObject) -> BlobInfo:
    return BlobInfo(found.key.rpartition("/")[2], found.size, found.modified_at)
