"""Comparing jobs: the page, the image and the table."""

from __future__ import annotations

import csv
import io

from app.formatting import short_id
from tests.api_bench import Bench, add_job, add_point, finish, lenet
from tests.html_page import HtmlPage
from tests.unit.app.web.test_pages import finished_job, page_of


def test_jobs_are_compared_in_one_plot(bench: Bench) -> None:
    """Each point leads to its job; the table has the selected points, and a way to leave a job out."""
    first, second = finished_job(bench, name="first"), finished_job(bench, name="second")

    page = page_of(bench, f"/compare?job={first}&job={second}&job={first}")

    links = page.attributes("a", "href")
    assert {f"/jobs/{job}?point={index}#point" for job in (first, second) for index in (0, 1)} <= set(links)
    assert page.text.count("97.50 %") >= 2
    labels = [values.get("aria-label") or "" for tag, values in page.elements if tag == "button"]
    assert [label for label in labels if label.startswith("Remove")] == ["Remove first", "Remove second"]


def test_jobs_can_be_added(bench: Bench) -> None:
    """Those that have succeeded and are not compared yet."""
    first, second = finished_job(bench, name="first"), finished_job(bench, name="second")
    add_job(bench, name="waiting")

    assert page_of(bench, "/compare").attributes("input", "value") == [second, first]
    ticked = [
        values["value"]
        for tag, values in page_of(bench, f"/compare?job={first}").elements
        if tag == "input" and values.get("type") == "checkbox"
    ]
    assert ticked == [second]


def test_the_image_and_the_table_have_all_points(bench: Bench) -> None:
    """In the order in which the jobs are named."""
    first, second = finished_job(bench, name="first"), finished_job(bench, name="second")

    image = bench.client.get(f"/v1/compare/plot.svg?job={first}&job={second}")
    table = bench.client.get(f"/v1/compare/points.csv?job={second}&job={first}")

    assert image.headers["content-type"] == "image/svg+xml"
    assert image.text.count('class="point') == 4
    rows = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert [(row["job"], row["name"], row["index"]) for row in rows] == [
        (second, "second", "0"),
        (second, "second", "1"),
        (first, "first", "0"),
        (first, "first", "1"),
    ]


def test_jobs_of_others_are_not_compared(bench: Bench) -> None:
    """By no way."""
    secret = finished_job(bench, owner="bob")

    for path in ("/compare", "/v1/compare/plot.svg", "/v1/compare/points.csv"):
        assert bench.client.get(f"{path}?job={secret}").status_code == 404


def test_what_cannot_be_compared_is_refused(bench: Bench) -> None:
    """No job, too many jobs, and jobs without a point."""
    waiting = add_job(bench)

    assert bench.client.get("/v1/compare/plot.svg").status_code == 422
    assert bench.client.get(f"/v1/compare/plot.svg?job={waiting.id}").json()["code"] == "no_points"
    many = "&".join(f"job=job_{number}" for number in range(21))
    assert bench.client.get(f"/v1/compare/points.csv?{many}").json()["code"] == "too_many_jobs"
    assert "None of these jobs has a point" in HtmlPage(bench.client.get(f"/compare?job={waiting.id}").text).text


def test_jobs_of_one_name_are_told_apart(bench: Bench) -> None:
    """By the ends of their ids, in the list of jobs to add, in the legend and in the table."""
    jobs = [finished_job(bench, name="twin") for _ in range(2)]
    titles = {f"twin ({short_id(job)})" for job in jobs}

    offered = page_of(bench, "/compare").text
    compared = page_of(bench, f"/compare?job={jobs[0]}&job={jobs[1]}").text

    assert all(title in offered for title in titles)
    assert all(compared.count(title) >= 2 for title in titles), compared


def test_jobs_of_a_study_are_labelled_by_their_values(bench: Bench) -> None:
    """All jobs of a study have its name."""
    spec = {"checkpoint": lenet(bench), "name": "sizes", "prune": {"name": "magnitude", "sparsity": 0.5}}
    answer = bench.client.post("/v1/studies", json={"spec": spec, "grid": {"quantize.clusters": [4, 16]}})
    for member in answer.json()["members"]:
        job = bench.backend.lifecycle.claim(member["job"], "test:1:worker", 60)
        assert job is not None
        add_point(bench, job)
        finish(bench, job, selected=0)

    page = page_of(bench, "/compare")

    assert "sizes: quantize.clusters 4" in page.text, page.text
    assert "sizes: quantize.clusters 16" in page.text
