"""The pipeline's observer of a job: what it is told goes to the job's log, events, columns and points."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from app.core.blobs import BlobStore
from app.core.jobs import Job, PointRow
from cnet.points import BaselineResult, Point
from worker.run.log import JobLog
from worker.run.reports import Reports, StopFlag


class JobObserver:
    """``cnet.pipeline.RunObserver``. Any method raises FencedError where another attempt holds the job."""

    def __init__(self, job: Job, reports: Reports, journal: JobLog, blobs: BlobStore, stop: StopFlag) -> None:
        self._reports = reports
        self._journal = journal
        self._blobs = blobs
        self._stop = stop
        self._phase: str | None = None
        self._progress = job.progress  # it does not fall when an attempt begins behind where the last one ended

    def phase(self, name: str) -> None:
        """A phase begins; told at once, and not twice in a row."""
        if name != self._phase:
            self._phase = name
            self._journal.write(f"phase {name}")
            self._reports.at_once()  # the phase may say nothing for a while
            self._reports.event("phase", name, phase=name)

    def progress(self, fraction: float) -> None:
        """How much is done, over all attempts."""
        if fraction > self._progress:
            self._progress = min(fraction, 1.0)
            self._reports.columns(progress=self._progress)

    def metric(self, values: dict[str, Any]) -> None:
        """Numbers of one step of work."""
        strict = {key: _finite(value) for key, value in values.items()}
        self._journal.write(describe(strict))
        self._reports.event("metric", strict)

    def log(self, message: str) -> None:
        """A line for a person."""
        self._journal.write(message)
        self._reports.event("log", message)

    def baseline(self, result: BaselineResult) -> None:
        """The net before compression was measured."""
        accuracy = "" if result.accuracy is None else f", accuracy {result.accuracy:.2f} %"
        self._journal.write(f"baseline: {result.npz_bytes} bytes as npz{accuracy}")
        self._reports.columns(baseline=result.to_json())

    def point(self, point: Point, bundle: Path) -> None:
        """A point is final: its bundle is stored before the row that names it."""
        digest = self._blobs.put_file(bundle)
        metrics = point.to_metrics()
        layers = metrics.pop("layers")
        self._reports.point(PointRow(point.index, metrics, layers, digest))
        accuracy = "" if point.accuracy is None else f", accuracy {point.accuracy:.2f} %"
        clusters = "no clusters" if point.clusters is None else f"{point.clusters} clusters"
        self._journal.write(
            f"point {point.index}: sparsity {point.sparsity:.4f}, {clusters}: {point.bytes.total} bytes,"
            f" ratio {point.ratio:.2f}{accuracy}"
        )

    def should_stop(self) -> bool:
        """Whether SIGTERM came. Asked often, so what was gathered is written here too."""
        self._reports.flush()
        return self._stop.is_set()


def describe(values: dict[str, Any]) -> str:
    """Numbers of a step as a line: ``finetune: epoch 3/30, loss 0.2, train_accuracy 97.5``."""
    rest = {key: value for key, value in values.items() if key not in ("phase", "epoch", "epochs")}
    parts = [f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in rest.items()]
    if "epoch" in values:
        total = f"/{values['epochs']}" if "epochs" in values else ""
        parts.insert(0, f"epoch {values['epoch']}{total}")
    text = ", ".join(parts)
    return f"{values['phase']}: {text}" if "phase" in values else text


def _finite(value: Any) -> Any:
    """The value, or None for a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
