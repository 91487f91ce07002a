"""The jobs of a study: runs of the pipeline, some of which start from the network of another job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AT_ONCE = {"epochs": 0}
"""Setting of ``prune.gradual`` that prunes at once."""


@dataclass(frozen=True)
class Job:
    """One run of the pipeline.

    Attributes:
        name: unique in the study, such as ``0/cut/l1/0.95``; the first part is the seed.
        label: name of the method in tables.
        group: the table that its points belong to; empty for a job that only trains.
        seed: seed of all its trainings.
        start: the job whose first bundle is the checkpoint; None trains from scratch.
        spec: JSON form of a JobSpec without checkpoint, architecture, data set, preprocessing and device.
        epochs: passes over the training images between the baseline and one of its points.
        cost: epochs that this job itself trains, as a measure of its duration.
    """

    name: str
    label: str
    group: str
    seed: int
    start: str | None
    spec: dict[str, Any]
    epochs: int
    cost: float = 0.0

    def about(self) -> dict[str, Any]:
        """The members that every record of the job has."""
        return {
            "job": self.name,
            "label": self.label,
            "group": self.group,
            "seed": self.seed,
            "epochs": self.epochs,
        }


def digests(jobs: Sequence[Job], inputs: Mapping[str, Any]) -> dict[str, str]:
    """A digest for each job, by name, of all that decides its results: its spec, the jobs before it, and ``inputs``."""
    found: dict[str, str] = {}
    for job in jobs:
        before = found[job.start] if job.start else ""
        text = json.dumps([_bare(job.spec), before, dict(inputs)], sort_keys=True)
        found[job.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def _bare(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without the setting that prunes at once, since a spec may also leave it out."""
    prune = {key: value for key, value in spec["prune"].items() if (key, value) != ("gradual", AT_ONCE)}
    return {**spec, "prune": prune}
