"""Clients of the service, each in a thread: they upload, submit, wait, download and verify."""

from __future__ import annotations

import hashlib
import io
import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import cnet
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.plan import PlannedJob, checkpoint
from benchmarks.chaos.resumed_upload import UploadCounts, upload

_AT_ONCE = 4  # jobs that a client submits before it waits for them
_WAIT_SECONDS = 5


@dataclass
class Record:
    """What the clients were told.

    Attributes:
        accepted: id of each job that was accepted, by its number.
        checkpoints: id of the checkpoint of each file.
        ended: status of each job, by its number.
        digests: digests of the bundles of all jobs with the same content.
        bundles: how many bundles were downloaded and verified.
        answers: how often each status came, and each fault of a connection.
        uploads: what happened to the uploads.
    """

    accepted: dict[int, str] = field(default_factory=dict)
    checkpoints: dict[int, str] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    digests: defaultdict[str, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))
    bundles: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    uploads: UploadCounts = field(default_factory=UploadCounts)


class Clients:
    """Clients that share the jobs of a plan.

    Args:
        urls: of the API processes.
        jobs: the plan.
        seed: decides what each client does.
        count: number of clients.
        seconds: after so long they submit no more jobs, and only wait for those that they have submitted.
    """

    def __init__(self, urls: Sequence[str], jobs: Sequence[PlannedJob], seed: int, count: int, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self.record = Record()
        self._urls = urls
        self._seed = seed
        self._jobs: queue.SimpleQueue[PlannedJob] = queue.SimpleQueue()
        for job in jobs:
            self._jobs.put(job)
        self._files: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(count)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def done(self) -> bool:
        """Whether all clients have ended. Raises what went wrong in one of them."""
        if self._errors:
            raise self._errors[0]
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def jobs_left(self) -> int:
        """How many jobs have not ended: those that were accepted, and those that will be submitted."""
        waiting = self._jobs.qsize() if time.monotonic() < self._deadline else 0
        return waiting + len(self.record.accepted) - len(self.record.ended)

    def _run(self, number: int) -> None:
        seen: Counter[str] = Counter()
        counts = UploadCounts()
        caller = Caller(self._urls, self._seed * 1000 + number, seen)
        try:
            while batch := self._next_jobs():
                for job in batch:
                    self._submit(caller, job, counts)
                for job in batch:
                    self._finish(caller, job)
        except BaseException as error:  # noqa: BLE001 - raised by ``done``
            self._errors.append(error)
        finally:
            caller.close()
            with self._lock:
                self.record.answers += seen
                self.record.uploads.cuts += counts.cuts
                self.record.uploads.acknowledged += counts.acknowledged

    def _next_jobs(self) -> list[PlannedJob]:
        batch: list[PlannedJob] = []
        while len(batch) < _AT_ONCE and time.monotonic() < self._deadline:
            try:
                batch.append(self._jobs.get_nowait())
            except queue.Empty:
                break
        return batch

    def _submit(self, caller: Caller, job: PlannedJob, counts: UploadCounts) -> None:
        spec = dict(job.spec)
        if job.file is not None:
            spec["checkpoint"] = self._checkpoint(caller, job.file, counts)
        headers = {"Idempotency-Key": f"job-{job.number}"}
        answer = caller.send("POST", "/v1/jobs", 202, json=spec, headers=headers)
        self.record.accepted[job.number] = answer.json()["id"]
        if job.cancel:
            caller.send("POST", f"/v1/jobs/{answer.json()['id']}/cancel", 202, 409)

    def _checkpoint(self, caller: Caller, file: int, counts: UploadCounts) -> str:
        """The id of a checkpoint, which the first client that needs it uploads."""
        with self._lock:
            lock = self._files[file]
        with lock:
            if file not in self.record.checkpoints:
                data = checkpoint(file)
                sent = upload(caller, data, f"file-{file}", counts)
                headers = {"Idempotency-Key": f"checkpoint-{file}"}
                body = {"upload": sent, "filename": f"{file}.safetensors"}
                made = caller.send("POST", "/v1/checkpoints", 201, json=body, headers=headers).json()
                assert made["sha256"] == hashlib.sha256(data).hexdigest(), f"file {file}: other bytes have arrived"
                caller.send("DELETE", f"/v1/uploads/{sent}", 204, 404, headers={"Tus-Resumable": "1.0.0"})
                self.record.checkpoints[file] = made["id"]
        return self.record.checkpoints[file]

    def _finish(self, caller: Caller, job: PlannedJob) -> None:
        """Wait for the end of a job, and verify its bundles."""
        path = f"/v1/jobs/{self.record.accepted[job.number]}"
        shown: dict[str, Any] = {"status": "queued"}
        while shown["status"] in ("queued", "running", "cancelling"):
            shown = caller.send("GET", path, 200, params={"wait": str(_WAIT_SECONDS)}).json()
        self.record.ended[job.number] = shown["status"]
        expected = {"succeeded", "cancelled"} if job.cancel else {"succeeded"}
        assert shown["status"] in expected, f"job {job.number}: {shown['status']} {shown['error']}"
        if shown["status"] == "succeeded":
            points = caller.send("GET", f"{path}/results", 200).json()["points"]
            for point in points:
                self._verify(caller, path, point)
            with self._lock:
                self.record.bundles += len(points)
                self.record.digests[job.content].add(tuple(point["sha256"] for point in points))

    def _verify(self, caller: Caller, path: str, point: dict[str, Any]) -> None:
        answer = caller.send("GET", f"{path}/bundle", 200, params={"point": str(point["index"])})
        assert hashlib.sha256(answer.content).hexdigest() == point["sha256"], f"{path}: the bundle has other bytes"
        cnet.open_bundle(io.BytesIO(answer.content)).verify()
