"""What the clients do: small checkpoints, and jobs of four kinds, all decided by the seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors.numpy import save

_TRAINING_EVERY, _CANCELLED_EVERY, _FILE_FOR = 20, 23, 5

_TRAINING: dict[str, Any] = {
    "architecture": {"name": "lenet300_100"},
    "dataset": "digits",
    "baseline": {"epochs": 1},
    "training": {"epochs": 12, "batch_size": 64},
    "method": {"name": "cnet", "lambda": 0.01},
    "prune": {"name": "magnitude", "sparsity": [0.8]},
    "quantize": {"name": "kmeans", "clusters": [16]},
}


@dataclass(frozen=True)
class PlannedJob:
    """A job that a client submits.

    Attributes:
        number: from 0.
        file: number of the checkpoint; None for a training from scratch.
        spec: its specification without the checkpoint.
        cancel: whether the client asks it to end.
    """

    number: int
    file: int | None
    spec: dict[str, Any]
    cancel: bool

    @property
    def content(self) -> str:
        """What the bundles depend on: jobs with the same content give the same bytes."""
        return f"{self.file} {sorted(self.spec.items())}"


def planned_jobs(count: int, seed: int) -> list[PlannedJob]:
    """The jobs, in order. One in 20 trains, one in 23 is cancelled, the others compress the weights of a file."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    made = []
    for number in range(count):
        cancel = number % _CANCELLED_EVERY == _CANCELLED_EVERY - 1
        if number % _TRAINING_EVERY == 3:
            made.append(PlannedJob(number, None, _TRAINING, cancel))
            continue
        prune = {"name": "magnitude", "sparsity": rng.choice([[0.5], [0.5, 0.9]])}
        quantize = {"name": "kmeans", "clusters": rng.choice([4, 16])}
        file = rng.randrange(max(count // _FILE_FOR, 1))
        made.append(PlannedJob(number, file, {"prune": prune, "quantize": quantize}, cancel))
    return made


def checkpoint(number: int) -> bytes:
    """A checkpoint as safetensors, of about 200 kB; another one for each number."""
    rng = np.random.default_rng(number)
    weights = rng.normal(size=(200, 240)).astype(np.float32)
    return save({"layer.weight": weights, "layer.bias": weights[0].copy(), "steps": np.array(number, np.int64)})
