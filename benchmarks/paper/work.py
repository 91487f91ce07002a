"""One job, done in a process of its own with one thread."""

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
from cnet.points import Point
from cnet.spec import JobSpec

Tell = Callable[[dict[str, Any]], None]
ZERO_CLUSTER_AT = 0.5
"""Sparsity of table 5."""


@dataclass(frozen=True)
class Place:
    """Where and on what a study works.

    Attributes:
        dataset, files: which images, and where they are, as ``data.load`` takes them.
        architecture: by name.
        folder: of all that jobs leave: runs under way, and bundles that others start from.
        device: as in a JobSpec.
    """

    dataset: str
    files: Path | None
    architecture: str
    folder: Path
    device: str

    @cached_property
    def source(self) -> data.Source:
        """The images, loaded once a process."""
        return data.load(self.dataset, self.files)

    def run(self, job: Job) -> Path:
        """The job's folder."""
        return self.folder / job.name.replace(" ", "_")

    def bundle(self, name: str) -> Path:
        """The first bundle of the job of this name."""
        return self.folder / name.replace(" ", "_") / "bundles" / "point-000.npz"

    def document(self, job: Job) -> dict[str, Any]:
        """The whole JobSpec."""
        return {
            **job.spec,
            "checkpoint": job.start,
            "architecture": {"name": self.architecture},
            "dataset": self.dataset,
            "preprocess": self.source.preprocess,
            "training": {**job.spec["training"], "device": self.device},
        }


def work(place: Place, job: Job, tell: Tell, *, keep: bool) -> None:
    """Do the job; tell of each point, and of the end.

    Args:
        place: where.
        job: what.
        tell: takes a record of the results file.
        keep: whether another job starts from what it makes; else its bundles are removed.
    """
    began = time.perf_counter()
    weights = open_bundle(place.bundle(job.start)).weights() if job.start else None
    inputs = Inputs(weights, place.source.dataset, place.run(job))
    outcome = run(JobSpec.parse(place.document(job)), inputs, Teller(job, tell))
    seconds = time.perf_counter() - began
    baseline = outcome.baseline.to_json()
    if not keep:
        shutil.rmtree(place.run(job))
    tell({"type": "done", **job.about(), "spec": job.spec, "seconds": seconds, "baseline": baseline})


class Teller(SilentRunObserver):
    """Makes a record of each point."""

    def __init__(self, job: Job, tell: Tell) -> None:
        self._job = job
        self._tell = tell

    def point(self, point: Point, bundle: Path) -> None:
        """Tell of it, and for table 5 of the bundle's symbols."""
        if not self._job.group:
            return
        record = {"type": "point", **self._job.about(), "point": point.to_json()}
        if self._job.group == "quantized" and point.sparsity_requested == ZERO_CLUSTER_AT:
            opened = open_bundle(bundle)
            record["zero_cluster"] = zero_cluster.sizes(opened.symbols(), shapes_of(opened.weights()))
        self._tell(record)
