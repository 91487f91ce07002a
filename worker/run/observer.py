"""The observer of a job: what the pipeline reports goes to the job's log, its events, its row and its points."""

from __future__ import annotations

import contextlib
import math
import time
from pathlib import Path
from typing import Any

from app.core.blobs import BlobStore
from app.core.blobs.references import BlobCheck, store_with_row
from app.core.db.engine import TRANSIENT
from app.core.errors import UnavailableError
from app.core.jobs import Job, PointRow
from app.core.telemetry.logs import get_logger
from app.core.telemetry.traces import PhaseSpans
from cnet.results.baseline import score_text
from cnet.results.points import BaselineResult, Point
from worker.run.job_log import JobLog
from worker.run.reporter import JobReporter, StopFlag, retry_until_available

log = get_logger(__name__)

_LOG_SECONDS = 0.5  # between two transactions with lines of the log


class JobObserver:
    """The ``cnet.pipeline.RunObserver`` of one attempt.

    Raises:
        FencedError: from any method, when another attempt holds the job.

    """

    def __init__(self, job: Job, reporter: JobReporter, job_log: JobLog, blobs: BlobStore, stop: StopFlag) -> None:
        self._reporter = reporter
        self._job_log = job_log
        self._blobs = blobs
        self._stop = stop
        self._log_due = 0.0
        self._phase: str | None = None
        self._spans = PhaseSpans()
        self._progress = job.progress  # an attempt that starts behind the last one does not lower it

    def phase(self, name: str) -> None:
        """Record that a phase begins: immediately, and only once where it is reported twice in a row."""
        if name != self._phase:
            self._phase = name
            self._job_log.write(f"phase {name}")
            log.info("phase begins", phase=name)
            self._spans.begin(name)
            self._reporter.flush_with_next()  # it may be long before the phase reports anything else
            self._reporter.add_event("phase", name, phase=name)

    def end_phase(self) -> None:
        """End the span of the last phase."""
        self._spans.end()

    def progress(self, fraction: float) -> None:
        """Record the progress, 0 to 1, over all attempts of the job."""
        if fraction > self._progress:
            self._progress = min(fraction, 1.0)
            self._reporter.set_columns(progress=self._progress)

    def metric(self, values: dict[str, Any]) -> None:
        """Record the numbers of one step, such as the loss of an epoch."""
        finite = {key: _finite(value) for key, value in values.items()}
        self._job_log.write(describe(finite))
        self._reporter.add_event("metric", finite)

    def log(self, message: str) -> None:
        """Write a line to the log."""
        self._job_log.write(message)
        self._reporter.add_event("log", message)

    def baseline(self, result: BaselineResult) -> None:
        """Record the size and score of the network before compression."""
        self._job_log.write(f"baseline: {result.npz_bytes} bytes as compressed npz{score_text(result)}")
        self._reporter.set_columns(baseline=result.to_json())

    def point(self, point: Point, bundle: Path) -> None:
        """Record a finished point. Its bundle is stored before the row that refers to it."""
        metrics = point.to_metrics()
        layers, histogram = metrics.pop("layers"), metrics.pop("histogram")

        def write(blob: str, check: BlobCheck) -> None:
            self._reporter.put_point(PointRow(point.index, metrics, layers, blob, histogram), check)

        def waits(error: Exception) -> None:
            silent = error if isinstance(error, UnavailableError) else "the database does not answer"
            self._job_log.write(f"point {point.index} waits to be stored: {silent}")
            self._send_log()

        retry_until_available(lambda: store_with_row(self._blobs, bundle, write), self._stop, waits)
        clusters = "no clusters" if point.clusters is None else f"{point.clusters} clusters"
        self._job_log.write(
            f"point {point.index}: sparsity {point.sparsity:.4f}, {clusters}: {point.bytes.total} bytes,"
            f" ratio {point.ratio:.2f}{score_text(point)}"
        )

    def should_stop(self) -> bool:
        """Whether SIGTERM was received. The pipeline asks often, so pending reports are written here too."""
        self._reporter.flush_if_due()
        self._send_log_if_due()
        return self._stop.is_set()

    def _send_log_if_due(self) -> None:
        if time.monotonic() >= self._log_due:
            self._log_due = time.monotonic() + _LOG_SECONDS
            self._send_log()

    def _send_log(self) -> None:
        with contextlib.suppress(*TRANSIENT):  # it is sent the next time
            self._job_log.send()


def describe(values: dict[str, Any]) -> str:
    """The numbers of a step as a line: ``finetune: epoch 3/30, loss 0.2, train_accuracy 97.5``."""
    rest = {key: value for key, value in values.items() if key not in ("phase", "epoch", "epochs")}
    parts = [f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in rest.items()]
    if "epoch" in values:
        total = f"/{values['epochs']}" if "epochs" in values else ""
        parts.insert(0, f"epoch {values['epoch']}{total}")
    text = ", ".join(parts)
    return f"{values['phase']}: {text}" if "phase" in values else text


def _finite(value: Any) -> Any:
    """The value, or None for NaN and infinities, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
