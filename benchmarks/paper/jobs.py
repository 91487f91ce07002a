"""What a study is made of: jobs of the pipeline, some of which start from the net that another one made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AT_ONCE = {"epochs": 0}
"""A gradual pruning that is none."""


@dataclass(frozen=True)
class Job:
    """One run of the pipeline.

    Attributes:
        name: unique in the study, such as ``0/cut/l1/0.95``; the first part is the seed.
        label: the method's name in tables.
        group: which table its points belong to; empty for those that only train.
        seed: of all its trainings.
        start: the job whose first bundle is the checkpoint; None trains from scratch.
        spec: JSON form of a JobSpec without checkpoint, architecture, data set, preprocessing and device.
        epochs: passes over the training images since the baseline that a point of it has had, its own included.
        cost: epochs that this job itself takes, to tell long ones from short ones.
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
        """What a point of the job says of where it comes from."""
        return {
            "job": self.name,
            "label": self.label,
            "group": self.group,
            "seed": self.seed,
            "epochs": self.epochs,
        }


def digests(jobs: Sequence[Job], inputs: Mapping[str, Any]) -> dict[str, str]:
    """For each job by name what decides its results: its spec, that of all before it, and the study's ``inputs``."""
    found: dict[str, str] = {}
    for job in jobs:
        before = found[job.start] if job.start else ""
        text = json.dumps([_bare(job.spec), before, dict(inputs)], sort_keys=True)
        found[job.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def _bare(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without what says that pruning is done at once, which is said in more than one way."""
    prune = {key: value for key, value in spec["prune"].items() if (key, value) != ("gradual", AT_ONCE)}
    return {**spec, "prune": prune}
