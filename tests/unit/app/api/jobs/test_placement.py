"""The queue of a job."""

from __future__ import annotations

from typing import Any

import pytest

from app.api.jobs.placement import LiveWorkers, check_resources, queue_of, waits_in_vain
from app.core.workers import WorkerFacts, Workers
from cnet.errors import SpecError
from cnet.spec import JobSpec
from tests.api_bench import Bench, lenet
from tests.unit.app.api.http.test_problems import check_problem

PLAIN = WorkerFacts(queues=["cpu"], memory_bytes=2**33)
GRAPHICS = WorkerFacts(queues=["gpu", "cpu"], memory_bytes=2**36)
TRAINS = {"architecture": "lenet5", "dataset": "digits"}
WEIGHTS = {"checkpoint": "ckpt_1"}


@pytest.mark.parametrize(
    ("spec", "workers", "queue"),
    [
        (WEIGHTS, [GRAPHICS], "cpu"),
        (TRAINS, [], "cpu"),
        (TRAINS, [PLAIN], "cpu"),
        (TRAINS, [PLAIN, GRAPHICS], "gpu"),
        ({**TRAINS, "resources": {"gpu": False}}, [GRAPHICS], "cpu"),
        ({**TRAINS, "resources": {"gpu": True}}, [], "gpu"),
        ({**WEIGHTS, "resources": {"gpu": True}}, [], "gpu"),
        ({**TRAINS, "training": {"device": "cpu"}}, [GRAPHICS], "cpu"),
        ({**TRAINS, "training": {"device": "cuda"}}, [], "gpu"),
        ({**TRAINS, "resources": {"queue": "h200"}}, [GRAPHICS], "h200"),
    ],
)
def test_a_job_goes_where_its_need_is_met(spec: dict[str, Any], workers: list[WorkerFacts], queue: str) -> None:
    """What it asks for counts; a job that trains and asks for nothing goes to a GPU where there is one."""
    assert queue_of(JobSpec.parse(spec), workers) == queue


def test_a_contradiction_is_refused() -> None:
    """CUDA without a GPU."""
    spec = JobSpec.parse({**TRAINS, "training": {"device": "cuda"}, "resources": {"gpu": False}})
    with pytest.raises(SpecError, match=r"resources\.gpu: it is false, but training\.device is cuda\. Leave"):
        check_resources(spec)


@pytest.mark.parametrize(
    ("queue", "memory", "workers", "words"),
    [
        ("cpu", 0, [], "no worker runs now"),
        ("cpu", 0, [GRAPHICS], None),
        ("gpu", 0, [PLAIN], "no worker with a GPU takes the queue 'gpu'"),
        ("h200", 0, [GRAPHICS], "CNET_QUEUES=h200"),
        ("cpu", 2**34, [PLAIN], "at most 8,589,934,592"),
        ("cpu", 2**34, [PLAIN, GRAPHICS], None),
    ],
)
def test_a_job_that_no_worker_can_take_is_told_of(
    queue: str, memory: int, workers: list[WorkerFacts], words: str | None
) -> None:
    """With what is missing."""
    found = waits_in_vain(queue, memory, workers)
    assert found is None if words is None else words in (found or "")


def test_live_workers_are_read_once_a_second(bench: Bench) -> None:
    """A new one is noticed after that."""
    now = [0.0]
    workers = Workers(bench.backend.database)
    live = LiveWorkers(workers, 60.0, lambda: now[0])
    assert live.facts() == []
    workers.beat("w1", PLAIN)
    assert live.facts() == []
    now[0] = 1.0
    assert live.facts() == [PLAIN]


def test_a_job_says_what_it_waits_for(bench: Bench) -> None:
    """So does its validation; both say nothing where a worker can take it."""
    Workers(bench.backend.database).beat("w1", PLAIN)
    spec = {"checkpoint": lenet(bench)}
    asking = {**spec, "resources": {"gpu": True, "memory": 1000}}

    plain, graphics = (bench.client.post("/v1/jobs", json=each).json() for each in (spec, asking))

    assert (plain["queue"], plain["waiting_for"]) == ("cpu", None)
    assert graphics["queue"] == "gpu"
    assert graphics["spec"]["resources"] == {"gpu": True, "memory": 1000}
    assert "no worker with a GPU" in graphics["waiting_for"]
    assert bench.client.get(graphics["urls"]["self"]).json() == graphics
    assert bench.client.get("/v1/jobs").json()["data"] == [graphics, plain]
    warnings = bench.client.post("/v1/jobs:validate", json=asking).json()["warnings"]
    assert any(text.startswith("resources: no worker with a GPU") for text in warnings)
    assert bench.queue.sent == ["cpu", "gpu"]


@pytest.mark.parametrize(
    "resources", [{"gpu": 1}, {"memory": 0}, {"memory": 1.5}, {"queue": "With Space"}, {"cores": 4}, []]
)
def test_resources_that_are_not_valid_are_refused(bench: Bench, resources: Any) -> None:
    """With a location."""
    answer = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench), "resources": resources})
    assert check_problem(answer, 422, "invalid_spec")["errors"][0]["loc"][0] == "resources"
