"""The trainings that a job has in common with others of its study: one job trains, the others wait and take it over."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from app.core.blobs import BlobStore
from app.core.blobs.references import BlobCheck, store_with_row
from app.core.errors import DamagedBlobError, NotFoundError
from app.core.jobs import Job, Trainings
from cnet.files import atomic_path
from cnet.observer import Observer, check_stop
from worker.run.reporter import StopFlag, retry_until_available

_POLL_SECONDS = 0.5


class StudyTrainings:
    """The ``cnet.pipeline.SharedTrainings`` of one job.

    Args:
        trainings: the trainings of the job's study.
        blobs: where weights are stored.
        job: the running job, of a study.
        machine: what decides a result beside the specification: versions, device, threads. Only jobs that run on equal
            machines share trainings, so that sharing changes no bundle.
        observer: told what this waits for; asked while it waits whether to stop, which also writes what it was told.
        stop: ends the waiting.
    """

    def __init__(
        self,
        trainings: Trainings,
        blobs: BlobStore,
        job: Job,
        machine: dict[str, str],
        observer: Observer,
        stop: StopFlag,
    ) -> None:
        self._trainings = trainings
        self._blobs = blobs
        self._job = job
        self._machine = json.dumps(machine, sort_keys=True)
        self._observer = observer
        self._stop = stop

    def take(self, key: str, target: Path) -> bool:
        """As ``SharedTrainings.take``."""
        own, waited_for = self._own(key), ""
        while True:
            found = retry_until_available(lambda: self._trainings.claim(self._job, own), self._stop)
            if found is not None and found.blob is not None:
                if self._fetched(found.blob, own, target):
                    self._observer.log(f"job {found.job_id} of the study has the same training")
                    return True
                continue
            if found is not None and found.job_id == self._job.id:
                return False
            if found is not None and found.job_id != waited_for:
                waited_for = found.job_id
                self._observer.log(
                    f"job {waited_for} of the study has the same training; this job waits for its weights"
                )
            self._stop.wait(_POLL_SECONDS)
            check_stop(self._observer)

    def give(self, key: str, source: Path) -> None:
        """As ``SharedTrainings.give``."""
        own = self._own(key)
        if not retry_until_available(lambda: self._trainings.holds(self._job, own), self._stop):
            return

        def write(blob: str, check: BlobCheck) -> bool:
            return self._trainings.publish(self._job, own, blob, check)

        retry_until_available(lambda: store_with_row(self._blobs, source, write), self._stop)

    def _own(self, key: str) -> str:
        name, _, digest = key.partition("-")
        return f"{name}-{hashlib.sha256(f'{digest}{self._machine}'.encode()).hexdigest()}"

    def _fetched(self, blob: str, key: str, target: Path) -> bool:
        """Copy weights to the run's folder. Returns False where they are lost; then they are trained again."""

        def copy() -> None:
            with self._blobs.lend(blob) as path, atomic_path(target) as draft:
                shutil.copyfile(path, draft)

        try:
            retry_until_available(copy, self._stop)
        except (NotFoundError, DamagedBlobError):
            study = str(self._job.study_id)
            retry_until_available(lambda: self._trainings.release(key, study, blob), self._stop)
            return False
        return True
