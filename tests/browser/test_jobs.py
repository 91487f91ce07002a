"""What a user does with jobs: cancel, retry, clone, delete, compare, and run many as a study."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Page, expect

from cnet.client import Client
from cnet.training.programs import export_program
from tests.acceptance.service import Up
from tests.small_program import small_network

ENDLESS = {
    "name": "Long training",
    "labels": {"team": "vision"},
    "architecture": "lenet300_100",
    "dataset": "digits",
    "training": {"epochs": 5000, "batch_size": 64},
}


def test_a_running_job_is_cancelled_and_retried(service: Up, client: Client, page: Page) -> None:
    """Cancelling ends it; a retry is a new job, which the list cancels too."""
    job = client.submit(ENDLESS)
    page.goto(f"{service.url}/jobs/{job['id']}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#progress .status")).to_have_text("cancelled")

    page.get_by_role("button", name="Retry").click()
    page.wait_for_url(re.compile(rf"/jobs/(?!{job['id']})job_"))
    again = page.url.rpartition("/")[2]
    page.get_by_role("link", name="Jobs", exact=True).click()
    row = page.locator(f"#row-{again}")
    row.get_by_role("button", name="Cancel").click()
    expect(page.locator("#progress .status")).to_have_text("cancelled")


def test_a_job_is_cloned(service: Up, done: dict[str, Any], page: Page) -> None:
    """The form of a clone has the settings of the job, and tells its time and size."""
    page.goto(f"{service.url}/jobs/{done['id']}")
    page.get_by_role("link", name="Clone").click()

    expect(page.get_by_label("Network", exact=True)).to_have_value("lenet300_100")
    expect(page.get_by_label("Data set", exact=True)).to_have_value("digits")
    expect(page.get_by_label("Name", exact=True)).to_have_value(done["name"])
    expect(page.get_by_label("As Digits, two sparsities")).to_be_checked()
    expect(page.locator("#preview")).to_contain_text("Points2")


def test_the_task_is_asked_for_where_a_program_is_chosen(
    service: Up, client: Client, page: Page, tmp_path: Path
) -> None:
    """A built-in network classifies, so that there is nothing to choose."""
    export_program(small_network(), torch.rand(4, 1, 8, 8), tmp_path / "net.pt2")
    program = client.upload_program(tmp_path / "net.pt2")["id"]
    page.goto(f"{service.url}/new")
    task = page.get_by_label("What the program does")

    expect(task).to_be_hidden()
    page.get_by_label("Network", exact=True).select_option("lenet5")
    expect(task).to_be_hidden()
    page.get_by_label("Network", exact=True).select_option(program)
    expect(task).to_be_visible()


def test_a_job_is_deleted(service: Up, client: Client, checkpoint_id: str, page: Page) -> None:
    """After a question, which can be answered with no; the list no longer has it."""
    job = client.wait(client.submit({"checkpoint": checkpoint_id, "name": "Short-lived"})["id"])
    page.goto(f"{service.url}/jobs/{job['id']}")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("link", name="Keep it").click()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()

    page.wait_for_url(f"{service.url}/")
    expect(page.locator(f"#row-{job['id']}")).to_have_count(0)


def test_jobs_are_compared(
    service: Up, client: Client, done: dict[str, Any], checkpoint_id: str, page: Page, tmp_path: Path
) -> None:
    """Ticked in the list, they are in one plot, which is an SVG file and a CSV file too."""
    measured = {"checkpoint": checkpoint_id, "architecture": "lenet300_100", "dataset": "digits"}
    untrained = {"training": {"epochs": 0}, "recover": {"epochs": 0}, "method": {"name": "none"}}
    coarse = {"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 8}}
    other = client.wait(client.submit({**measured, **untrained, **coarse, "name": "Weights alone"})["id"])
    assert other["status"] == "succeeded", other["error"]

    page.goto(service.url)
    for job in (done, other):
        page.get_by_role("checkbox", name=f"Compare {job['name']}").first.check()
    page.get_by_role("button", name="Compare the ticked jobs").click()

    expect(page.locator(".plot svg")).to_contain_text("Weights alone")
    picture, table = _download(page, "SVG", tmp_path), _download(page, "CSV of all points", tmp_path)
    assert "<svg" in picture.read_text()
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 3
    assert {row["job"] for row in rows} == {done["id"], other["id"]}


def test_a_study_is_submitted_and_watched(service: Up, checkpoint_id: str, page: Page) -> None:
    """One job for each value; the page moves by itself to the end of the last one."""
    page.goto(f"{service.url}/new")
    page.get_by_label("Checkpoint", exact=True).select_option(checkpoint_id)
    page.get_by_label("My own settings").check()
    page.get_by_text("Several values: a study").click()
    page.get_by_label("Values to try").fill("quantize.quality: safe, small")
    page.get_by_label("Name", exact=True).fill("Two qualities")
    expect(page.locator("#preview")).to_contain_text("A study of 2 jobs")
    page.get_by_role("button", name="Submit the").click()

    page.wait_for_url(re.compile(r"/studies/study_"))
    expect(page.locator("#study .state")).to_contain_text("2 of 2 jobs have succeeded")
    expect(page.locator("#study tbody tr")).to_have_count(2)


def _download(page: Page, link: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("link", name=link, exact=True).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path
