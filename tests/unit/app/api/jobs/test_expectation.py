"""What a job can be expected to take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.core.db.tables import jobs
from tests.api_bench import Bench, add_baseline, finish, lenet

DATA = {"architecture": "lenet300_100", "dataset": "digits"}


def validated(bench: Bench, spec: dict[str, Any]) -> dict[str, Any]:
    """The estimate of a job."""
    answer = bench.client.post("/v1/jobs:validate", json=spec)
    assert answer.status_code == 200, answer.text
    estimate: dict[str, Any] = answer.json()["estimate"]
    return estimate


def ran(bench: Bench, spec: dict[str, Any], seconds: float) -> None:
    """Submit a job and let it end after so many seconds."""
    made = bench.client.post("/v1/jobs", json=spec).json()
    job = bench.backend.lifecycle.claim(made["id"], "test:1:worker", 60)
    assert job is not None
    assert job.started_at is not None
    add_baseline(bench, job)
    finish(bench, job, selected=0)
    ended = job.started_at + timedelta(seconds=seconds)
    with bench.backend.database.write() as connection:
        connection.execute(update(jobs).where(jobs.c.id == job.id).values(ended_at=ended))


def test_the_time_is_unknown_before_a_comparable_job_has_ended(bench: Bench) -> None:
    """A job with data says nothing of one without."""
    checkpoint = lenet(bench)
    ran(bench, {"checkpoint": checkpoint, **DATA}, 100)

    assert validated(bench, {"checkpoint": checkpoint})["seconds"] is None
    assert validated(bench, {"checkpoint": checkpoint, **DATA})["seconds"] > 0


def test_the_time_grows_with_the_work(bench: Bench) -> None:
    """It follows from the epochs; jobs of the same network count before others."""
    checkpoint = lenet(bench)
    ran(bench, {"checkpoint": checkpoint, **DATA, "training": {"epochs": 10}}, 100)

    short = validated(bench, {"checkpoint": checkpoint, **DATA, "training": {"epochs": 5}})["seconds"]
    long = validated(bench, {"checkpoint": checkpoint, **DATA, "training": {"epochs": 500}})["seconds"]

    assert long > 5 * short


def test_the_start_of_a_short_job_is_not_its_pace(bench: Bench) -> None:
    """A job without training, which takes a minute to start, hardly changes what long ones are expected to take."""
    checkpoint = lenet(bench)
    asked = {"checkpoint": checkpoint, **DATA, "training": {"epochs": 500}}
    ran(bench, {"checkpoint": checkpoint, **DATA, "training": {"epochs": 100}}, 1000)
    before = validated(bench, asked)["seconds"]
    ran(bench, {"checkpoint": checkpoint, **DATA, "training": {"epochs": 0}}, 60)

    assert validated(bench, asked)["seconds"] < 1.2 * before


@pytest.mark.parametrize(
    ("spec", "bits"),
    [
        ({"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 16}}, 3.0),
        ({"prune": {"name": "magnitude", "sparsity": 0}, "quantize": {"name": "kmeans", "clusters": 256}}, 8.0),
        ({"prune": {"name": "magnitude", "sparsity": 0.9}, "quantize": {"name": "kmeans", "clusters": 4}}, 0.669),
        ({"quantize": {"name": "none"}}, 29.4),
    ],
)
def test_the_size_is_that_of_masks_and_labels(bench: Bench, spec: dict[str, Any], bits: float) -> None:
    """In bits for each compressible weight, besides what is kept exactly."""
    estimate = validated(bench, {"checkpoint": lenet(bench), **spec})

    exact = 4 * (estimate["parameters"] - estimate["compressible_parameters"])
    expected = estimate["compressible_parameters"] * bits / 8 + 0.92 * exact + 1500
    assert estimate["bundle_bytes_low"] == pytest.approx(expected, rel=0.01)
    assert estimate["bundle_bytes_high"] == estimate["bundle_bytes_low"]


def test_several_points_have_a_range(bench: Bench) -> None:
    """From the smallest to the largest; a size that is asked for bounds both."""
    checkpoint = lenet(bench)
    spec = {"checkpoint": checkpoint, "quantize": {"name": "kmeans", "clusters": [4, 256]}}

    both = validated(bench, spec)
    bound = validated(bench, {"checkpoint": checkpoint, "target": {"max_bytes": 5000}})

    assert both["bundle_bytes_low"] < both["bundle_bytes_high"] / 3
    assert bound["bundle_bytes_high"] == 5000
