"""The list of jobs, and what can be done with one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from app.core.states import Status
from app.web.job_points import columns_of
from cnet.results.baseline import TaskScore
from cnet.results.damage import ResultWarning
from tests.api_bench import Bench, add_baseline, add_job, add_point, claim, finish, lenet
from tests.html_page import HtmlPage
from tests.unit.app.web.test_pages import finished_job, page_of
from tests.unit.cnet.points_at_hand import a_point

SAME = {"Sec-Fetch-Site": "same-origin"}


def test_a_new_server_says_how_to_begin(bench: Bench) -> None:
    """There is no empty table."""
    page = page_of(bench, "/")

    assert "table" not in [tag for tag, _ in page.elements]
    assert "Upload a trained network" in page.text


def test_jobs_are_listed_with_their_results(bench: Bench) -> None:
    """Newest first; a queued one says how many are before it."""
    finished_job(bench, name="done")
    add_job(bench, name="first in the queue")
    add_job(bench, name="waiting")

    text = page_of(bench, "/").text

    assert text.index("waiting") < text.index("first in the queue") < text.index("done")
    assert "97.50 %" in text
    assert "1 before it" in text


def test_the_page_of_a_job_shows_its_webhook(bench: Bench) -> None:
    """Before the end there is no message; then its state, attempts and receiver. Other jobs have no such section."""
    spec = {"checkpoint": lenet(bench), "webhook": {"url": "https://hooks.example.org/cnet"}}
    job = bench.client.post("/v1/jobs", json=spec).json()["id"]

    waiting = page_of(bench, f"/jobs/{job}")
    bench.client.post(f"/v1/jobs/{job}/cancel")
    ended = page_of(bench, f"/jobs/{job}")

    assert "once the job has ended" in waiting.text
    assert "job.cancelled to hooks.example.org" in " ".join(ended.text.split())
    assert "pending" in ended.text
    assert "deliveries-title" not in page_of(bench, f"/jobs/{finished_job(bench)}").ids


@pytest.mark.parametrize(
    ("code", "shown"),
    [("small_validation", True), ("validation_seen", True), ("one_class", False), ("likely_ruined", False)],
)
def test_the_verdict_stands_beside_a_warning_that_does_not_judge(bench: Bench, code: str, shown: bool) -> None:
    """A warning about the samples says nothing about the network; one about damage takes the place of the verdict."""
    job = claim(bench, add_job(bench))
    add_baseline(bench, job)
    add_point(bench, job, 0, snr_db=20.0, warnings=(ResultWarning(code, "Read this."),))
    finish(bench, job, selected=0)

    text = " ".join(page_of(bench, f"/jobs/{job.id}").text.split())

    assert "Read this." in text
    assert ("Measured, accuracy 97.5 % on the test split" in text) is shown


def test_a_metric_is_named_once(bench: Bench) -> None:
    """In the summary its name is the heading, so that it does not stand before each value."""
    metric = TaskScore("mse", "", 0.0036, None, higher_is_better=False)
    job = claim(bench, add_job(bench))
    add_baseline(bench, job, accuracy=None, metric=metric)
    add_point(bench, job, 0, accuracy=None, metric=replace(metric, value=0.0136))
    point = replace(a_point(0, 100), metric=metric)
    finish(bench, job, selected=0)

    text = " ".join(page_of(bench, f"/jobs/{job.id}").text.split())

    assert "MSE (test)0.0036 → 0.0136" in text
    assert "Test MSE: 0.0136, 0.01 worse than the original" in text
    assert "Mse" not in text
    assert "What networks of this task are compared by, on the test split." in text
    assert "test mse" in [column.heading for column in columns_of([point])]
    assert "metric_value" not in [column.name for column in columns_of([a_point(0, 100, 97.5)])]


def test_the_list_is_filtered(bench: Bench) -> None:
    """By status and label; fields that are left empty do not filter."""
    finished_job(bench, name="done", labels={"team": "vision"})
    add_job(bench, name="waiting")

    assert "waiting" not in page_of(bench, "/?status=succeeded&label=&checkpoint=").text
    assert "waiting" not in page_of(bench, "/?label=team:vision").text
    assert "No job fits" in page_of(bench, "/?status=failed").text
    assert bench.client.get("/?status=wrong").status_code == 400


def test_long_lists_have_pages(bench: Bench) -> None:
    """The link to older jobs keeps the filter."""
    for number in range(3):
        add_job(bench, name=f"number {number}", labels={"a": "b"})

    first = page_of(bench, "/?limit=2&label=a")
    link = next(address for address in first.attributes("a", "href") if "after=" in address)
    second = page_of(bench, link)

    assert "label=a" in link
    assert "number 0" in second.text
    assert "number 1" not in second.text


def test_another_owners_jobs_are_not_shown(bench: Bench) -> None:
    """Neither in the list nor by their address."""
    job = finished_job(bench, owner="bob", name="secret")

    assert "secret" not in page_of(bench, "/").text
    assert bench.client.get(f"/jobs/{job}").status_code == 404


def test_an_administrator_sees_whose_job_it_is(bench: Bench) -> None:
    """Jobs of all owners are listed and shown with their owners, and can be filtered by them."""
    mine, other = finished_job(bench, owner="ann", name="mine"), finished_job(bench, owner="bob", name="other")
    bench.client.post("/login", data={"key": bench.backend.keys.create("ann", "admin")[1]}, headers=SAME)

    assert {"owner: ann", "owner: bob"} <= set(re.findall(r"owner: \w+", page_of(bench, "/").text))
    assert "mine" not in page_of(bench, "/?owner=bob").text
    assert "owner: bob" in page_of(bench, f"/jobs/{other}").text
    assert "owner: ann" in page_of(bench, f"/jobs/{mine}").text


def test_the_list_keeps_itself_up_to_date(bench: Bench) -> None:
    """It asks for itself, with its filter; seldom once all jobs have ended."""
    finished_job(bench)

    def refreshing(page: HtmlPage) -> dict[str, str | None]:
        return next(values for _, values in page.elements if values.get("hx-get"))

    still = refreshing(page_of(bench, "/?status=succeeded"))
    add_job(bench)
    active = refreshing(page_of(bench, "/"))

    assert still["hx-get"] == "/parts/jobs?status=succeeded"
    assert still["hx-trigger"] == "every 15s"
    assert active["hx-trigger"] == "every 2s"
    assert "h1" not in [tag for tag, _ in page_of(bench, str(still["hx-get"])).elements]


def test_a_job_is_cancelled_retried_and_deleted(bench: Bench) -> None:
    """By forms that need no script; deleting asks first."""
    job = claim(bench, add_job(bench, name="mine"))

    cancelled = bench.client.post(f"/jobs/{job.id}/cancel", headers=SAME)
    assert cancelled.status_code == 200
    assert bench.backend.jobs.get(job.id).status is Status.CANCELLING  # type: ignore[union-attr]
    assert bench.client.post(f"/jobs/{job.id}/retry", headers=SAME).status_code == 409
    assert "cannot be brought back" in page_of(bench, f"/jobs/{job.id}/delete").text
    bench.client.post(f"/jobs/{job.id}/delete", headers=SAME)
    assert bench.backend.jobs.get(job.id) is None


def test_an_ended_job_runs_again(bench: Bench) -> None:
    """The page of the new job is shown, and it was sent to the queue."""
    spec = {"checkpoint": lenet(bench)}
    made = bench.client.post("/v1/jobs", json=spec).json()
    job = bench.backend.lifecycle.claim(made["id"], "test:1:worker", 60)
    assert job is not None
    finish(bench, job, Status.FAILED)

    answer = bench.client.post(f"/jobs/{made['id']}/retry", headers=SAME)

    new = answer.url.path.removeprefix("/jobs/")
    assert new != made["id"]
    assert bench.backend.jobs.get(new).status is Status.QUEUED  # type: ignore[union-attr]
    assert bench.queue.sent == ["cpu", "cpu"]


def test_a_job_that_has_not_begun_shows_no_empty_box(bench: Bench) -> None:
    """Its log says that it has no line."""
    assert "No line yet." in page_of(bench, f"/jobs/{add_job(bench, name='waiting').id}").text


def test_each_score_says_its_split(bench: Bench) -> None:
    """The summary has that of the test; the table has also that by which the point was selected."""
    metric = TaskScore("accuracy", "percent", 83.2, 93.67, higher_is_better=True)
    job = claim(bench, add_job(bench))
    add_baseline(bench, job, accuracy=83.2, accuracy_validation=93.67, metric=metric)
    after = {"accuracy": 82.8, "accuracy_validation": 93.0, "metric": replace(metric, value=82.8, validation=93.0)}
    add_point(bench, job, 0, snr_db=20.0, **after)
    finish(bench, job, selected=0)

    text = " ".join(page_of(bench, f"/jobs/{job.id}").text.split())

    assert "Accuracy (test)83.20 % → 82.80 %" in text
    assert (
        "82.8 % on the test split, 83.2 % before compression; the selection used 93 % on the validation split" in text
    )
    assert "as compressed npz" in text
    assert "test accuracy" in text
    assert "validation accuracy" in text
    assert "by which the point is selected" in text
    assert "Test accuracy (%)" in text
    assert "Test accuracy: 82.80 %" in text


def test_a_calibrated_job_shows_agreement_first(bench: Bench) -> None:
    """In the list, the headline, the plot and the table, where no accuracy is known."""
    job = claim(bench, add_job(bench))
    add_baseline(bench, job, accuracy=None)
    add_point(bench, job, 0, accuracy=None, snr_db=32.9, agreement=99.22, kl=0.0123)
    finish(bench, job, selected=0)

    text = " ".join(page_of(bench, f"/jobs/{job.id}").text.split())

    assert "agreement 99.22 %" in " ".join(page_of(bench, "/").text.split())
    assert "Agreement99.22 % KL0.0123 nats" in text
    assert "Agreement with the original (%)" in text
    assert "Agreement with the original: 99.22 %, KL 0.0123 nats" in text
    names = [column.name for column in columns_of([replace(a_point(0, 100), agreement=99.22, kl=0.01, snr_db=32.9)])]
    assert names.index("agreement") < names.index("kl") < names.index("snr_db")


def test_downloads_of_a_running_job_are_not_final(bench: Bench) -> None:
    """Another point may be selected; once the job has ended nothing is said."""
    job = claim(bench, add_job(bench))
    add_baseline(bench, job)
    add_point(bench, job, 0)

    running = page_of(bench, f"/jobs/{job.id}").text
    finish(bench, job, selected=0)

    assert "Not final: the job has not ended" in running
    assert "Not final" not in page_of(bench, f"/jobs/{job.id}").text
