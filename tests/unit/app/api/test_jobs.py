"""Jobs over HTTP: submitting, checking, listing, stopping."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from app.core.clock import utc_now
from app.core.db.tables import jobs
from app.core.queue import MemoryQueue
from cnet.search import searches
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights
from tests.api_bench import (
    Bench,
    add_checkpoint,
    add_job,
    architecture_weights,
    claim,
    finish,
    npz,
    small_dataset,
)
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.test_problems import check_problem

FIELDS = {
    *("id", "name", "labels", "status", "phase", "progress", "spec", "created_at", "queued_at", "started_at"),
    *(
        "ended_at",
        "expires_at",
        "attempt",
        "queue_position",
        "error",
        "urls",
        "study",
        "selected",
        "worker",
        "versions",
    ),
}
URLS = {"self", "events", "logs", "cancel", "results", "bundle", "metrics", "plot", "page"}


def lenet(bench: Bench) -> str:
    """The id of a checkpoint of lenet300_100 for the digits."""
    return add_checkpoint(bench, architecture_weights("lenet300_100")).id


def test_submit(bench: Bench) -> None:
    """A submission is 202 with the job, queued, in the contract's form; its id is sent to the queue."""
    spec = {"checkpoint": lenet(bench), "name": "my job", "labels": {"team": "vision"}, "webhook": None}
    spec.pop("webhook")
    answer = bench.client.post("/v1/jobs", json=spec)
    job = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/jobs/{job['id']}")
    assert set(job) == FIELDS
    assert set(job["urls"]) == URLS
    assert (job["status"], job["progress"], job["queue_position"], job["attempt"]) == ("queued", 0.0, 0, 0)
    assert (job["name"], job["labels"], job["study"], job["error"]) == ("my job", {"team": "vision"}, None, None)
    assert bench.queue.sent == [job["id"]]
    assert bench.client.get(job["urls"]["self"]).json() == job


def test_spec_is_stored_with_its_defaults(bench: Bench) -> None:
    """The stored spec has every default written out, and is the same spec when parsed again."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)}).json()
    assert job["spec"]["prune"] == {"name": "magnitude", "sparsity": [0.9]}
    assert {"quantize", "encode"} <= set(job["spec"])
    assert JobSpec.parse(job["spec"]).resolved().to_json() == job["spec"]


@pytest.mark.parametrize("prune", [None, {"name": "magnitude"}])
def test_search_stays_a_search(bench: Bench, prune: Any) -> None:
    """A sparsity that is to be searched for is still open in the stored spec."""
    spec = {"checkpoint": lenet(bench), "target": {"min_ratio": 5}, "prune": prune}
    job = bench.client.post("/v1/jobs", json=spec).json()
    assert searches(JobSpec.parse(job["spec"]))


def test_broker_that_is_down_fails_no_submission(begin: Start) -> None:
    """The job is kept, and sent by the next one that finds the broker up."""
    queue = MemoryQueue()
    bench = begin(queue=queue)
    queue.available = False
    first = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)})
    assert first.status_code == 202
    queue.available = True
    second = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)})
    assert queue.sent == [first.json()["id"], second.json()["id"]]
    assert second.json()["queue_position"] == 1


BAD_SPECS: list[tuple[dict[str, Any], list[Any], str]] = [
    ({"sparsity": 0.9}, ["sparsity"], "Extra"),
    ({"prune": {"name": "magnitude", "sparsity": 1.5}}, ["prune", "sparsity", 0], "less than"),
    ({"prune": {"name": "magnitude", "sparsity": "0.9"}}, ["prune", "sparsity", 0], "number"),
    ({"prune": {"name": "nope"}}, ["prune"], "magnitude"),
    ({"quantize": {"name": "kmeans", "clusters": 0}}, ["quantize", "clusters", 0], "greater"),
    ({"name": "a\u0000b"}, ["name"], "control"),
    ({"labels": {"k": "a\nb"}}, ["labels", "k"], "control"),
    ({"name": "x" * 201}, ["name"], "200"),
    ({"time_limit": 10**9}, ["time_limit"], "allows"),
    ({"dataset": "digits"}, [], "architecture"),
]


@pytest.mark.parametrize(("part", "loc", "says"), BAD_SPECS)
@pytest.mark.parametrize("route", ["/v1/jobs", "/v1/jobs:validate"])
def test_bad_spec(bench: Bench, route: str, part: dict[str, Any], loc: list[Any], says: str) -> None:
    """Submitting and validating say the same: where and what; nothing is queued."""
    problem = check_problem(bench.client.post(route, json={"checkpoint": lenet(bench), **part}), 422, "invalid_spec")
    assert any(row["loc"] == loc and says in row["msg"] for row in problem["errors"]), problem["errors"]
    assert bench.queue.sent == []


def test_all_that_is_wrong_is_said_at_once(bench: Bench) -> None:
    """Every issue of a spec is in one answer."""
    spec = {"checkpoint": 5, "prune": {"name": "magnitude", "sparsity": 2}, "more": 1}
    problem = bench.client.post("/v1/jobs", json=spec).json()
    assert len(problem["errors"]) == 3


def digits_job(checkpoint: str | None, name: str = "lenet300_100", **more: Any) -> dict[str, Any]:
    """A spec that trains on the digits."""
    return {"checkpoint": checkpoint, "architecture": {"name": name}, "dataset": "digits", **more}


def test_architecture_that_does_not_match(bench: Bench) -> None:
    """Missing, unexpected and mismatched tensors are listed."""
    weights = architecture_weights("lenet300_100")
    first, *rest = weights.tensors
    wrong = Tensor(first.name, "float32", np.zeros((2, 2), np.float32))
    extra = Tensor("extra.weight", "float32", np.zeros((2, 2), np.float32))
    gone = rest.pop(0)
    made = add_checkpoint(bench, Weights.select([wrong, *rest, extra]))
    problem = check_problem(bench.client.post("/v1/jobs", json=digits_job(made.id)), 422, "architecture_mismatch")
    assert problem["missing"] == [gone.name]
    assert problem["unexpected"] == ["extra.weight"]
    assert first.name in problem["mismatched"][0]


def test_labels_that_the_net_has_no_class_for(bench: Bench) -> None:
    """A net of fewer outputs than the data has classes is refused, at submit and validate."""
    made = add_checkpoint(bench, architecture_weights("lenet300_100", classes=5))
    for route in ("/v1/jobs", "/v1/jobs:validate"):
        check_problem(bench.client.post(route, json=digits_job(made.id)), 422, "labels_out_of_range")


def test_data_set_of_another_shape(bench: Bench) -> None:
    """A data set of larger images does not fit the checkpoint's first layer."""
    data = bench.client.post("/v1/datasets", content=small_dataset(side=12)).json()
    spec = {**digits_job(lenet(bench)), "dataset": data["id"]}
    check_problem(bench.client.post("/v1/jobs", json=spec), 422, "architecture_mismatch")


def test_images_too_small_for_the_net(bench: Bench) -> None:
    """A net that the images are too small for is refused when nothing is uploaded, too."""
    body = npz(x=np.zeros((20, 2, 2), np.uint8), y=np.arange(20) % 2)
    data = bench.client.post("/v1/datasets", content=body).json()
    spec = {"architecture": {"name": "lenet5"}, "dataset": data["id"]}
    assert bench.client.post("/v1/jobs", json=spec).status_code == 422


def test_uploaded_data_set_is_used(bench: Bench) -> None:
    """A job on an uploaded data set names it, so that it cannot be deleted meanwhile."""
    data = bench.client.post("/v1/datasets", content=small_dataset()).json()
    spec = {**digits_job(lenet(bench)), "dataset": data["id"]}
    assert bench.client.post("/v1/jobs", json=spec).status_code == 202
    check_problem(bench.client.delete(f"/v1/datasets/{data['id']}"), 409, "in_use")


@pytest.mark.parametrize(
    "spec",
    [
        {"checkpoint": "ckpt_0"},
        {"checkpoint": "../../etc/passwd"},
        digits_job(None) | {"dataset": "ds_0"},
        digits_job(None) | {"dataset": "mnist"},
    ],
)
def test_what_is_named_must_be_there(bench: Bench, spec: dict[str, Any]) -> None:
    """An unknown checkpoint or data set is 404 and says which."""
    check_problem(bench.client.post("/v1/jobs", json=spec), 404, "not_found")


def test_preprocess_of_other_channels(bench: Bench) -> None:
    """``preprocess`` has one value, or one a channel."""
    spec = digits_job(lenet(bench), preprocess={"mean": [0.1, 0.2, 0.3], "std": [1]})
    problem = check_problem(bench.client.post("/v1/jobs", json=spec), 422, "invalid_spec")
    assert problem["errors"][0]["loc"] == ["preprocess", "mean"]


def test_quota(begin: Start) -> None:
    """More active jobs than allowed are 429 with Retry-After; ended ones do not count."""
    bench = begin(max_active_jobs=1)
    spec = {"checkpoint": lenet(bench)}
    job = bench.client.post("/v1/jobs", json=spec).json()
    answer = bench.client.post("/v1/jobs", json=spec)
    check_problem(answer, 429, "too_many")
    assert int(answer.headers["retry-after"]) > 0
    bench.client.post(job["urls"]["cancel"])
    assert bench.client.post("/v1/jobs", json=spec).status_code == 202


def test_estimate_of_a_sweep(bench: Bench) -> None:
    """Points, epochs and sizes follow from the spec and the checkpoint."""
    spec = digits_job(
        lenet(bench),
        training={"epochs": 3},
        recover={"epochs": 2, "centroid_epochs": 1},
        prune={"name": "magnitude", "sparsity": [0.8, 0.9]},
        quantize={"name": "kmeans", "clusters": [4, 8, 16]},
    )
    answer = bench.client.post("/v1/jobs:validate", json=spec).json()
    assert (answer["valid"], answer["warnings"]) == (True, [])
    estimate = answer["estimate"]
    assert estimate["points"] == 6
    assert estimate["epochs"] == {"baseline": 0, "finetune": 3, "recover": 4, "centroids": 6, "total": 13}
    assert estimate["compressible_parameters"] == 64 * 300 + 300 * 100 + 100 * 10
    assert estimate["parameters"] == estimate["compressible_parameters"] + 410
    assert estimate["raw_bytes"] == 4 * estimate["parameters"]
    assert estimate["disk_bytes"] > estimate["raw_bytes"]
    assert bench.client.get("/v1/jobs").json()["data"] == []


def test_estimate_from_scratch(bench: Bench) -> None:
    """Without a checkpoint the net's size follows from the architecture, and the baseline's epochs count."""
    spec = digits_job(None, "resnet20", training={"epochs": 1}, baseline={"epochs": 7})
    estimate = bench.client.post("/v1/jobs:validate", json=spec).json()["estimate"]
    assert estimate["epochs"]["baseline"] == 7
    assert estimate["parameters"] > estimate["compressible_parameters"] > 0


def test_validation_warns(bench: Bench) -> None:
    """Patterns that match nothing, and nets with nothing to compress, are told before the run."""
    spec: dict[str, Any] = {"checkpoint": lenet(bench), "compressible": {"exclude": ["nothing.*"]}}
    assert "nothing.*" in bench.client.post("/v1/jobs:validate", json=spec).json()["warnings"][0]
    spec["compressible"] = {"exclude": ["*"]}
    assert "no tensor" in bench.client.post("/v1/jobs:validate", json=spec).json()["warnings"][0]


def ids(answer: Any) -> list[str]:
    """Of a list of jobs."""
    return [row["id"] for row in answer.json()["data"]]


def test_list_filters(bench: Bench) -> None:
    """By state, checkpoint, label; a label's key may hold any character."""
    made = lenet(bench)
    first = add_job(bench, labels={"team": "vision"}, checkpoint_id=made)
    second = add_job(bench, labels={"team": "audio", 'a"b.$[0]': "x:y"})
    running = claim(bench, first)
    find = bench.client.get
    assert ids(find("/v1/jobs")) == [second.id, first.id]
    assert ids(find("/v1/jobs?status=running")) == [running.id]
    assert ids(find(f"/v1/jobs?checkpoint={made}")) == [first.id]
    assert ids(find("/v1/jobs?label=team")) == [second.id, first.id]
    assert ids(find("/v1/jobs?label=team:vision")) == [first.id]
    assert ids(find("/v1/jobs?label=team:none")) == []
    assert ids(find("/v1/jobs", params={"label": 'a"b.$[0]:x:y'})) == [second.id]
    assert ids(find("/v1/jobs", params={"label": "'; DROP TABLE jobs"})) == []


def test_cancel(bench: Bench) -> None:
    """A queued job is cancelled at once, a running one is cancelling; an ended one is 409."""
    queued, running = add_job(bench), add_job(bench)
    claim(bench, running)
    answer = bench.client.post(f"/v1/jobs/{queued.id}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    check_problem(bench.client.post(f"/v1/jobs/{queued.id}/cancel"), 409, "already_ended")
    for _ in range(2):
        answer = bench.client.post(f"/v1/jobs/{running.id}/cancel")
        assert (answer.status_code, answer.json()["status"]) == (202, "cancelling")


def test_retry(bench: Bench) -> None:
    """An ended job can be run again as a new one; one that has not ended cannot."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench), "name": "x"}).json()
    retry = f"/v1/jobs/{job['id']}/retry"
    check_problem(bench.client.post(retry), 409, "not_ended")
    bench.client.post(job["urls"]["cancel"])
    answer = bench.client.post(retry)
    again = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/jobs/{again['id']}")
    assert again["id"] != job["id"]
    assert (again["status"], again["spec"], again["name"]) == ("queued", job["spec"], "x")


def test_retry_needs_its_checkpoint(bench: Bench) -> None:
    """A job whose checkpoint was deleted cannot be run again."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)}).json()
    bench.client.post(job["urls"]["cancel"])
    bench.client.delete(f"/v1/checkpoints/{job['spec']['checkpoint']}")
    check_problem(bench.client.post(f"/v1/jobs/{job['id']}/retry"), 404, "not_found")


def test_delete_stops_a_running_job(bench: Bench) -> None:
    """Deleting hides the job at once and tells its worker to stop."""
    job = claim(bench, add_job(bench))
    assert bench.client.delete(f"/v1/jobs/{job.id}").status_code == 204
    check_problem(bench.client.get(f"/v1/jobs/{job.id}"), 404, "not_found")
    lease = bench.core.lifecycle.renew(job.id, job.attempt, 60)
    assert lease is not None
    assert lease.cancel_requested


def test_failed_job_says_why(bench: Bench) -> None:
    """A failed job carries code and detail."""
    from app.core.states import Status

    job = claim(bench, add_job(bench))
    finish(bench, job, Status.FAILED, code="constraint_not_met", detail="no point meets it")
    shown = bench.client.get(f"/v1/jobs/{job.id}").json()
    assert shown["error"] == {"code": "constraint_not_met", "detail": "no point meets it"}
    assert shown["ended_at"] is not None


def test_expired_job_is_gone(bench: Bench) -> None:
    """An ended job is 410 after its time; one that runs is not."""
    job = claim(bench, add_job(bench))
    with bench.core.database.write() as connection:
        connection.execute(jobs.update().values(expires_at=utc_now() - timedelta(seconds=1)))
    assert bench.client.get(f"/v1/jobs/{job.id}").status_code == 200
    finish(bench, job, selected=0)
    check_problem(bench.client.get(f"/v1/jobs/{job.id}"), 410, "gone")
    check_problem(bench.client.get(f"/v1/jobs/{job.id}/results"), 410, "gone")
