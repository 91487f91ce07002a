"""Runs one job in this process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.inputs import shapes_of
from benchmarks.paper import data, zero_cluster
from benchmarks.paper.jobs import Job
from cnet.bundle import open_bundle
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.results.points import Point
from cnet.spec import JobSpec

RecordSink = Callable[[dict[str, Any]], None]
ZERO_CLUSTER_AT = 0.5
"""Sparsity of table 5."""


@dataclass(frozen=True)
class StudySetup:
    """The data set, network, folder and device of a study.

    Attributes:
        dataset, files: name of the data set and folder of its files, as in ``data.load``.
        architecture: name of the architecture.
        folder: where jobs save their state, and the bundles that other jobs start from.
        device: as in a JobSpec.
    """

    dataset: str
    files: Path | None
    architecture: str
    folder: Path
    device: str

    @cached_property
    def source(self) -> data.Source:
        """The images, loaded once in each process."""
        return data.load(self.dataset, self.files)

    def run(self, job: Job) -> Path:
        """The folder of a job."""
        return self.folder / job.name.replace(" ", "_")

    def bundle(self, name: str) -> Path:
        """The path of the first bundle of a job, by its name."""
        return self.folder / name.replace(" ", "_") / "bundles" / "point-000.npz"

    def document(self, job: Job) -> dict[str, Any]:
        """The complete job specification, as JSON."""
        return {
            **job.spec,
            "checkpoint": job.start,
            "architecture": {"name": self.architecture},
            "dataset": self.dataset,
            "validation": 0,  # the committed results are of trainings on all training data
            "preprocess": self.source.preprocess,
            "training": {**job.spec["training"], "device": self.device},
        }


def work(setup: StudySetup, job: Job, record_result: RecordSink, *, keep: bool) -> None:
    """Run a job; record each point and the end.

    Args:
        setup: setup of the study.
        job: the job.
        record_result: called with each record for the results file.
        keep: whether another job starts from its bundles; if not, they are removed.
    """
    began = time.perf_counter()
    weights = open_bundle(setup.bundle(job.start)).weights() if job.start else None
    dataset = setup.source.dataset
    inputs = Inputs(weights, dataset, setup.run(job), calibration=dataset if "calibrate" in job.spec else None)
    outcome = run(JobSpec.parse(setup.document(job)), inputs, PointRecorder(job, record_result))
    seconds = time.perf_counter() - began
    baseline = outcome.baseline.to_json()
    if not keep:
        shutil.rmtree(setup.run(job))
    record_result({"type": "done", **job.about(), "spec": job.spec, "seconds": seconds, "baseline": baseline})


class PointRecorder(SilentRunObserver):
    """Records each point of a job."""

    def __init__(self, job: Job, record_result: RecordSink) -> None:
        self._job = job
        self._record_result = record_result

    def point(self, point: Point, bundle: Path) -> None:
        """Record a point; for table 5 also the sizes of its symbols."""
        if not self._job.group:
            return
        record = {"type": "point", **self._job.about(), "point": point.to_json()}
        if self._job.group == "quantized" and point.sparsity_requested == ZERO_CLUSTER_AT:
            opened = open_bundle(bundle)
            record["zero_cluster"] = zero_cluster.sizes(opened.symbols(), shapes_of(opened.weights()))
        self._record_result(record)
