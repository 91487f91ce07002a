"""Studies over HTTP."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from app.core.clock import utc_now
from app.core.db.tables import jobs, studies
from app.core.states import Status
from tests.api_bench import Bench, add_point, claim, finish, lenet
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem

GRID = {"prune.sparsity": [0.5, 0.9], "quantize.clusters": [4, 8]}


def study(bench: Bench, grid: Any = GRID, **spec: Any) -> dict[str, Any]:
    """A submitted study of a checkpoint."""
    body = {"spec": {"checkpoint": lenet(bench), **spec}, "grid": grid}
    answer = bench.client.post("/v1/studies", json=body)
    assert answer.status_code == 202, answer.text
    made: dict[str, Any] = answer.json()
    return made


def end(bench: Bench, made: dict[str, Any], index: int, status: Status = Status.SUCCEEDED, **how: Any) -> None:
    """End the job at a place of a study."""
    job = bench.backend.jobs.get(made["members"][index]["job"])
    assert job is not None
    running = claim(bench, job)
    if status is Status.SUCCEEDED:
        add_point(bench, running)
        how = {"selected": 0, **how}
    finish(bench, running, status, **how)


def test_submit(bench: Bench) -> None:
    """One job for each combination, each with the id of the study; all are sent to the queue."""
    made = study(bench, name="sweep", labels={"team": "vision"})

    assert (made["status"], made["progress"], made["name"], made["labels"]) == (
        *("queued", 0.0, "sweep", {"team": "vision"}),
    )
    assert made["jobs"] == {
        **dict.fromkeys(("running", "cancelling", "succeeded", "failed", "cancelled", "timed_out"), 0),
        "total": 4,
        "queued": 4,
    }
    assert [row["values"] for row in made["members"]] == [
        {"prune.sparsity": sparsity, "quantize.clusters": clusters} for sparsity in (0.5, 0.9) for clusters in (4, 8)
    ]
    members = [row["job"] for row in made["members"]]
    assert members == sorted(members)
    assert bench.queue.sent == ["cpu"] * 4
    job = bench.client.get(f"/v1/jobs/{members[3]}").json()
    assert job["study"] == made["id"]
    assert (job["spec"]["prune"]["sparsity"], job["spec"]["quantize"]["clusters"]) == ([0.9], [8])
    assert bench.client.get(made["urls"]["self"]).json() == made
    assert [row["id"] for row in bench.client.get(made["urls"]["jobs"]).json()["data"]] == members[::-1]


def test_a_study_ends_with_its_jobs(bench: Bench) -> None:
    """Counts, progress and status follow the jobs; one failure makes the study fail."""
    made = study(bench)
    end(bench, made, 0)
    between = bench.client.get(made["urls"]["self"]).json()
    assert (between["status"], between["progress"], between["ended_at"]) == ("running", 0.25, None)
    for index in (1, 2):
        end(bench, made, index)
    end(bench, made, 3, Status.FAILED, code="worker_lost", detail="lost")

    ended = bench.client.get(made["urls"]["self"]).json()

    assert (ended["status"], ended["progress"]) == ("failed", 1.0)
    assert (ended["jobs"]["succeeded"], ended["jobs"]["failed"]) == (3, 1)
    assert ended["started_at"] <= ended["ended_at"]
    assert ended["members"][3]["error"] == {"code": "worker_lost", "detail": "lost"}


def test_a_list_has_the_states(bench: Bench) -> None:
    """Newest first, with counts, without members, in pages."""
    first, second = study(bench), study(bench, {"prune.sparsity": [0.5]})
    end(bench, second, 0)

    page = bench.client.get("/v1/studies?limit=1").json()
    rest = bench.client.get(f"/v1/studies?limit=1&after={page['next']}").json()

    assert [(row["id"], row["status"]) for row in page["data"]] == [(second["id"], "succeeded")]
    assert [(row["id"], row["jobs"]["queued"]) for row in rest["data"]] == [(first["id"], 4)]
    assert (page["has_more"], rest["has_more"]) == (True, False)
    assert "members" not in page["data"][0]


def test_results_are_the_points_of_all_jobs(bench: Bench) -> None:
    """As JSON by job, and as one table."""
    made = study(bench)
    end(bench, made, 1)
    end(bench, made, 2)

    found = bench.client.get(made["urls"]["results"]).json()
    table = bench.client.get(made["urls"]["results"], headers={"Accept": "text/csv"})

    assert found["grid"] == GRID
    assert [len(row["points"]) for row in found["members"]] == [0, 1, 1, 0]
    second = found["members"][1]
    assert (second["values"], second["job"], second["selected"]) == (
        *(made["members"][1]["values"], made["members"][1]["job"], 0),
    )
    assert second["points"][0]["bundle_url"].startswith(f"/v1/jobs/{second['job']}/bundle")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["prune.sparsity"], row["quantize.clusters"], row["job"]) for row in rows] == [
        ("0.5", "8", made["members"][1]["job"]),
        ("0.9", "4", made["members"][2]["job"]),
    ]
    assert rows[0]["selected"] == "true"


def test_cancel(bench: Bench) -> None:
    """Waiting jobs are cancelled, running ones are asked to stop; a second request changes nothing."""
    made = study(bench)
    end(bench, made, 0)
    running = bench.backend.jobs.get(made["members"][1]["job"])
    assert running is not None
    claim(bench, running)

    answer = bench.client.post(made["urls"]["cancel"])

    assert answer.status_code == 202
    states = [row["status"] for row in answer.json()["members"]]
    assert states == ["succeeded", "cancelling", "cancelled", "cancelled"]
    assert answer.json()["status"] == "cancelling"
    events = bench.client.get(f"/v1/jobs/{made['members'][2]['job']}/events", headers={"Accept": "application/json"})
    assert [row["status"] for row in events.json()["data"]] == ["queued", "cancelled"]
    assert bench.client.post(made["urls"]["cancel"]).status_code == 202


def test_an_ended_study_cannot_be_cancelled(bench: Bench) -> None:
    """409, and the answer says so."""
    made = study(bench, {})
    end(bench, made, 0)
    check_problem(bench.client.post(made["urls"]["cancel"]), 409, "already_ended")


def test_retry_runs_failed_jobs_again(bench: Bench) -> None:
    """New jobs take the places of those that failed; the others stay, and an idempotent repetition adds nothing."""
    made = study(bench)
    for index, status in enumerate((Status.SUCCEEDED, Status.FAILED, Status.TIMED_OUT, Status.SUCCEEDED)):
        end(bench, made, index, status)

    headers = {"Idempotency-Key": "again"}
    answer = bench.client.post(made["urls"]["retry"], headers=headers)
    again = bench.client.post(made["urls"]["retry"], headers=headers)

    assert answer.status_code == 202
    assert again.json() == answer.json()
    now = answer.json()["members"]
    assert [row["status"] for row in now] == ["succeeded", "queued", "queued", "succeeded"]
    assert [now[i]["job"] == made["members"][i]["job"] for i in range(4)] == [True, False, False, True]
    assert now[1]["values"] == made["members"][1]["values"]
    assert bench.client.get(made["urls"]["self"]).json() == answer.json()
    assert len(bench.client.get(made["urls"]["jobs"]).json()["data"]) == 6
    check_problem(bench.client.post(made["urls"]["retry"]), 409, "nothing_to_retry")


def test_a_retry_of_one_job_takes_its_place(bench: Bench) -> None:
    """The job's own route does the same for one job, and only once."""
    made = study(bench)
    end(bench, made, 1, Status.FAILED)
    failed = made["members"][1]["job"]

    answer = bench.client.post(f"/v1/jobs/{failed}/retry").json()

    assert answer["study"] == made["id"]
    members = bench.client.get(made["urls"]["self"]).json()["members"]
    assert [row["job"] for row in members] == [
        *(made["members"][0]["job"], answer["id"], made["members"][2]["job"], made["members"][3]["job"])
    ]
    alone = bench.client.post(f"/v1/jobs/{failed}/retry").json()
    assert alone["study"] is None


def test_nothing_is_queued_where_one_job_is_refused(bench: Bench) -> None:
    """The answer names the place in the grid and its values."""
    body = {"spec": {"checkpoint": lenet(bench)}, "grid": {"prune.sparsity": [0.5, 0.9, 1.5]}}

    answer = bench.client.post("/v1/studies", json=body)

    detail = check_problem(answer, 422, "invalid_spec")["detail"]
    assert detail.startswith("grid point 2 (prune.sparsity = 1.5): ")
    assert bench.client.get("/v1/jobs").json()["data"] == []
    assert bench.client.get("/v1/studies").json()["data"] == []
    assert bench.queue.sent == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"spec": {}}, "invalid_spec"),
        ({"grid": {}}, "invalid_spec"),
        ({"spec": {}, "grid": {"name": []}}, "invalid_spec"),
        ({"spec": {}, "grid": {"": [1]}}, "invalid_spec"),
        ({"spec": {}, "grid": {"a.b": [1]}, "more": 1}, "invalid_spec"),
        ({"spec": "x", "grid": {}}, "invalid_spec"),
        ([], "invalid_spec"),
        ("text", "invalid_spec"),
        ({"spec": {"checkpoint": "ckpt_none"}, "grid": {}}, "not_found"),
        ({"spec": {"checkpoint": "ckpt_none"}, "grid": {"training.seed": list(range(1001))}}, "study_too_large"),
    ],
)
def test_refusals(bench: Bench, body: Any, code: str) -> None:
    """Each with a code of its own, before anything is stored."""
    answer = bench.client.post("/v1/studies", json=body)
    check_problem(answer, 404 if code == "not_found" else 422, code)


def test_the_limit_of_active_jobs_counts_all_jobs_of_a_study(begin: Start) -> None:
    """Four do not fit where three may be active."""
    bench = begin(max_active_jobs=3)
    body = {"spec": {"checkpoint": lenet(bench)}, "grid": GRID}

    answer = bench.client.post("/v1/studies", json=body)

    check_problem(answer, 429, "too_many")
    assert answer.headers["retry-after"]


def test_a_repeated_submission_makes_one_study(bench: Bench) -> None:
    """By the same idempotency key; another body with it is refused."""
    body = {"spec": {"checkpoint": lenet(bench)}, "grid": GRID}
    headers = {"Idempotency-Key": "one"}

    first = bench.client.post("/v1/studies", json=body, headers=headers)
    second = bench.client.post("/v1/studies", json=body, headers=headers)

    assert first.json() == second.json()
    assert len(bench.client.get("/v1/jobs").json()["data"]) == 4
    other = bench.client.post("/v1/studies", json={**body, "grid": {}}, headers=headers)
    check_problem(other, 422, "idempotency_mismatch")


def test_delete(bench: Bench) -> None:
    """The study and its jobs are gone, and what had not ended is cancelled."""
    made = study(bench)
    assert bench.client.delete(made["urls"]["self"]).status_code == 204
    check_problem(bench.client.get(made["urls"]["self"]), 404, "not_found")
    assert bench.client.get("/v1/jobs").json()["data"] == []
    with bench.backend.database.read() as connection:
        assert {row.status for row in connection.execute(jobs.select())} == {"cancelled"}


def test_a_study_is_its_owners_alone(begin: Start) -> None:
    """Every route answers 404 to another owner."""
    bench = begin()
    made = study(bench)
    _, key = bench.backend.keys.create("bob")
    headers = {"Authorization": f"Bearer {key}"}
    for method, path in (
        *(("GET", "self"), ("DELETE", "self"), ("POST", "cancel"), ("POST", "retry"), ("GET", "results")),
    ):
        check_problem(bench.client.request(method, made["urls"][path], headers=headers), 404, "not_found")
    assert bench.client.get("/v1/studies", headers=headers).json()["data"] == []


def test_an_expired_study_is_gone(bench: Bench) -> None:
    """410 after its time, once its jobs have ended."""
    made = study(bench)
    with bench.backend.database.write() as connection:
        connection.execute(studies.update().values(expires_at=utc_now()))
    assert bench.client.get(made["urls"]["self"]).status_code == 200
    bench.client.post(made["urls"]["cancel"])
    check_problem(bench.client.get(made["urls"]["self"]), 410, "gone")
