"""The bytes of unfinished uploads in an S3 bucket: an object for each part, so that any server can go on.

S3's own upload in parts would need parts of 5 MiB at least and ends with one object, but a client may send fewer bytes
at a time, and a complete upload is read only once. The parts that count are rows of the database, stored together with
the number of bytes that have arrived: a server that was replaced, and does not know it yet, may write more objects, but
none of them counts. They are deleted together with the upload.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.core.blobs.bucket import PART_BYTES, S3Bucket
from app.core.errors import NotFoundError
from app.core.uploads.partial_files import UploadPart, lost_bytes

_ROOT = "uploads"


class BucketPartialFiles:
    """The uploads of a bucket. Nothing of them is on the disk of a server."""

    def __init__(self, bucket: S3Bucket) -> None:
        self._bucket = bucket

    def append(self, upload_id: str, offset: int, writer: str) -> BucketPartialFile:
        """As ``PartialFiles.append``. Never None: only the writer that the row names can count its parts."""
        return BucketPartialFile(self._bucket, _folder(upload_id), offset, writer)

    def fetch(self, upload_id: str, size: int, parts: Sequence[UploadPart], folder: Path) -> Path:
        """As ``PartialFiles.fetch``: a copy in ``folder``."""
        path = folder / "upload"
        stops = [*(part.start for part in parts[1:]), size]
        with path.open("wb") as target:
            try:
                for part, stop in zip(parts, stops, strict=False):
                    key, wanted = f"{_folder(upload_id)}/{part.name}", stop - part.start
                    if self._bucket.stat(key).size < wanted:
                        raise lost_bytes(upload_id)
                    target.writelines(self._bucket.read(key, 0, wanted))
            except NotFoundError as error:
                raise lost_bytes(upload_id) from error
        if path.stat().st_size != size:
            raise lost_bytes(upload_id)
        return path

    def require_space(self, size: int) -> None:
        """As ``PartialFiles.require_space``: a bucket has no limit that is known here."""

    def delete(self, upload_id: str) -> None:
        """As ``PartialFiles.delete``."""
        self._bucket.delete([found.key for found in self._bucket.list(_folder(upload_id))])

    def ids(self) -> Iterator[str]:
        """As ``PartialFiles.ids``."""
        yield from self._bucket.folders(_ROOT)


class BucketPartialFile:
    """Collects the bytes that one request sends, and stores them in parts of some MiB.

    Args:
        bucket: where they are stored.
        folder: of the upload in the bucket.
        offset: of the first byte.
        writer: names the request; no other one has objects of the same names.
    """

    def __init__(self, bucket: S3Bucket, folder: str, offset: int, writer: str) -> None:
        self._bucket = bucket
        self._folder = folder
        self._writer = writer
        self._start = offset
        self._waiting = bytearray()
        self._parts: list[UploadPart] = []
        self._lock = threading.Lock()

    def write(self, chunks: Sequence[bytes]) -> None:
        """As ``PartialFile.write``."""
        with self._lock:
            for chunk in chunks:
                self._waiting += chunk
            if len(self._waiting) >= PART_BYTES:
                self._store()

    def sync(self) -> None:
        """As ``PartialFile.sync``."""
        with self._lock:
            if self._waiting:
                self._store()

    def parts_before(self, offset: int) -> Sequence[UploadPart]:
        """As ``PartialFile.parts_before``."""
        with self._lock:
            return [part for part in self._parts if part.start < offset]

    def close(self) -> None:
        """As ``PartialFile.close``: what was not stored is dropped."""
        with self._lock:
            self._waiting.clear()

    def discard_from(self, offset: int) -> None:
        """As ``PartialFile.discard_from``."""
        with self._lock:
            self._bucket.delete([f"{self._folder}/{part.name}" for part in self._parts if part.start >= offset])

    def _store(self) -> None:
        name = f"{self._start:020}-{self._writer}"
        self._bucket.put_bytes(f"{self._folder}/{name}", bytes(self._waiting))
        stop = self._start + len(self._waiting)
        self._parts.append(UploadPart(self._start, stop, name))
        self._start = stop
        self._waiting.clear()


def _folder(upload_id: str) -> str:
    return f"{_ROOT}/{upload_id}"
