"""What the tests share: a small job, and its bundles in an undisturbed run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.processes import Service, service

#: trains for some seconds, saved after each of many epochs
TRAINING: dict[str, Any] = {
    "architecture": {"name": "lenet300_100"},
    "dataset": "digits",
    "baseline": {"epochs": 1},
    "training": {"epochs": 15, "batch_size": 64},
    "method": {"name": "cnet", "lambda": 0.01},
    "prune": {"name": "magnitude", "sparsity": [0.8]},
    "recover": {"epochs": 1},
    "quantize": {"name": "kmeans", "clusters": [16]},
}
#: never ends within a test
LONG: dict[str, Any] = {**TRAINING, "training": {"epochs": 100_000}}


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    """A service whose broker and one worker run. Each test leaves them running, without a job."""
    with service(lease_seconds=4.0) as made:
        made.start_valkey()
        made.start_worker()
        yield made


@pytest.fixture(scope="module")
def undisturbed(running: Service) -> list[str]:
    """Digests of the bundles of ``TRAINING`` where nothing goes wrong."""
    job = running.submit(TRAINING)
    assert running.ended(job.id).status == "succeeded", running.log_of(job.id)
    return running.bundles(job.id)
