"""The states of jobs in an S3 bucket, where workers on every machine find them.

    jobs/JOB/ATTEMPT/1, 2, ...   files of the folder, each version an object of its own
    jobs/JOB/ATTEMPT/manifest    which objects make up the folder, by path; written last

Each attempt writes objects of its own, so that one that lost its lease without noticing spoils nothing. The manifest is
replaced at once: whoever reads it finds one moment of the folder. Objects that no manifest needs any more are deleted.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from app.core.blobs.bucket import S3Bucket
from app.core.errors import NotFoundError, ServiceError
from app.core.telemetry.logs import get_logger
from cnet.errors import StoppedError
from cnet.files import atomic_write, file_sha256
from worker.state.folder_moment import FolderMoment, files_of

log = get_logger(__name__)

_ROOT = "jobs"
_MANIFEST = "manifest"
_SHARE = 4  # the time between two copies is at least so many times as long as the last one took


@dataclass(frozen=True)
class SavedFile:
    """One file of a saved folder: its path in the folder, the object that holds it, its size and its SHA-256."""

    path: str
    key: str
    size: int
    sha256: str


class BucketStates:
    """As ``JobStates``, in a bucket.

    Args:
        bucket: where they are kept.
        seconds: shortest time between two copies of a state.
    """

    def __init__(self, bucket: S3Bucket, seconds: float) -> None:
        self._bucket = bucket
        self._seconds = seconds

    def restore(self, job_id: str, folder: Path) -> None:
        """As ``JobStates.restore``."""
        for attempt in sorted(self._bucket.folders(f"{_ROOT}/{job_id}"), reverse=True):
            try:
                files = self._manifest(_prefix(job_id, int(attempt)))
            except NotFoundError:  # it ended before it had saved anything
                continue
            self._fetch(job_id, files, folder)
            return

    @contextmanager
    def keep(self, job_id: str, attempt: int, folder: Path, report: Callable[[str], None]) -> Iterator[None]:
        """As ``JobStates.keep``."""
        copies = _Copies(self._bucket, job_id, attempt, folder, report)
        ended = threading.Event()
        thread = threading.Thread(target=copies.repeat, args=(ended, self._seconds), name="state", daemon=True)
        thread.start()
        stopped = False
        try:
            yield
        except StoppedError:
            stopped = True
            raise
        finally:
            ended.set()
            thread.join()
            if stopped:
                copies.save_or_report()

    def delete(self, job_id: str) -> None:
        """As ``JobStates.delete``."""
        self._bucket.delete([found.key for found in self._bucket.list(f"{_ROOT}/{job_id}")])

    def job_ids(self) -> Sequence[str]:
        """As ``JobStates.job_ids``."""
        return self._bucket.folders(_ROOT)

    def _manifest(self, prefix: str) -> list[SavedFile]:
        key = f"{prefix}/{_MANIFEST}"
        content = b"".join(self._bucket.read(key, 0, self._bucket.stat(key).size))
        return [SavedFile(**row) for row in json.loads(content)]

    def _fetch(self, job_id: str, files: Sequence[SavedFile], folder: Path) -> None:
        """Make the folder what a manifest says. Where an object is missing or damaged, the folder is emptied."""
        wanted = {file.path for file in files}
        for path in files_of(folder):
            if path not in wanted:
                (folder / path).unlink()
        try:
            for file in files:
                self._fetch_file(file, folder / file.path)
        except (NotFoundError, ValueError) as error:
            log.error(  # noqa: TRY400 - the cause is one of two, and no defect
                "the saved state of a job cannot be used; it starts again", job_id=job_id, cause=str(error)
            )
            for path in files_of(folder):
                (folder / path).unlink()

    def _fetch_file(self, file: SavedFile, path: Path) -> None:
        if path.exists() and path.stat().st_size == file.size and file_sha256(path) == file.sha256:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as target:
            self._bucket.copy(file.key, file.size, target)
            if file_sha256(target) != file.sha256:
                raise ValueError(f"object {file.key}: its content has changed. Start the job again.")


class _Copies:
    """Copies the folder of one attempt to the bucket, and knows what the bucket holds of it."""

    def __init__(
        self, bucket: S3Bucket, job_id: str, attempt: int, folder: Path, report: Callable[[str], None]
    ) -> None:
        self._bucket = bucket
        self._job_id = job_id
        self._attempt = attempt
        self._folder = folder
        self._report = report
        self._saved: dict[tuple[str, object], SavedFile] = {}  # by path and identity of the file
        self._written: set[str] = set()  # keys of all objects that are there, also of those that a failure left
        self._objects = 0
        self._failing = False

    def repeat(self, ended: threading.Event, seconds: float) -> None:
        """Copy the folder again and again, until the event is set."""
        pause = seconds
        while not ended.wait(pause):
            started = time.monotonic()
            self.save_or_report()
            pause = max(seconds, _SHARE * (time.monotonic() - started))

    def save_or_report(self) -> None:
        """Copy the folder if it has changed. An error is reported, once for each series of them."""
        try:
            self._save()
            self._failing = False
        except (ServiceError, OSError) as error:
            if not self._failing:
                self._report(f"the state to resume from could not be saved: {error}")
            self._failing = True

    def _save(self) -> None:
        """Upload what is new, then the manifest, then delete what it replaces."""
        with FolderMoment.of(self._folder, known=self._saved.keys()) as moment:
            if moment.identities == self._saved.keys():
                return
            saved = {one: self._saved[one] for one in moment.identities if one in self._saved}
            for one, file in moment.opened.items():
                saved[one] = self._upload(one[0], file)
        rows = json.dumps([asdict(file) for file in saved.values()]).encode()
        self._bucket.put(f"{_prefix(self._job_id, self._attempt)}/{_MANIFEST}", io.BytesIO(rows), len(rows))
        first, self._saved = not self._saved, saved
        replaced = self._written - {file.key for file in saved.values()}
        self._bucket.delete([*replaced, *(self._of_earlier_attempts() if first else ())])
        self._written -= replaced

    def _upload(self, path: str, file: io.BufferedReader) -> SavedFile:
        self._objects += 1
        key = f"{_prefix(self._job_id, self._attempt)}/{self._objects}"
        self._written.add(key)
        digest = file_sha256(file)
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        self._bucket.put(key, file, size)
        return SavedFile(path, key, size, digest)

    def _of_earlier_attempts(self) -> list[str]:
        own = f"{_prefix(self._job_id, self._attempt)}/"
        return [found.key for found in self._bucket.list(f"{_ROOT}/{self._job_id}") if found.key < own]


def _prefix(job_id: str, attempt: int) -> str:
    return f"{_ROOT}/{job_id}/{attempt:09d}"
