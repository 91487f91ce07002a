"""A program with inputs that have no labels: they are uploaded, chosen, and taken back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from cnet.client import Client
from cnet.training.programs import export_program
from tests.acceptance.service import Up
from tests.small_program import small_network


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """An npz file with inputs alone."""
    path = tmp_path / "inputs.npz"
    np.savez(path, x=np.random.default_rng(0).random((60, 1, 8, 8), np.float32))
    return path


@pytest.fixture
def program(client: Client, tmp_path: Path) -> str:
    """The id of a program on the server that takes those inputs."""
    export_program(small_network(), torch.rand(4, 1, 8, 8), tmp_path / "net.pt2")
    identity: str = client.upload_program(tmp_path / "net.pt2")["id"]
    return identity


def test_safe_calibrates_with_uploaded_inputs(service: Up, page: Page, program: str, inputs: Path) -> None:
    """Without a word typed, the job is calibrated, and its agreement is measured."""
    page.goto(f"{service.url}/new?architecture={program}")
    page.get_by_label("Drop unlabelled inputs here, or choose a file").set_input_files(inputs)
    expect(page.get_by_text("is uploaded and chosen")).to_be_visible()
    expect(page.locator("#snippet-1 pre")).to_contain_text('"calibrated"')
    expect(page.locator("#preview")).to_contain_text("Estimate")

    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile(r"/jobs/job_"))
    expect(page.locator("#progress .status")).to_have_text("succeeded", timeout=240_000)
    expect(page.get_by_role("region", name="Table of points")).to_contain_text("agreement")


def test_other_data_take_back_what_a_preset_has_set(
    service: Up, client: Client, page: Page, program: str, inputs: Path
) -> None:
    """A data set lets "Safe" set a method; without the data set it is gone."""
    unlabelled = client.upload_dataset(inputs)["id"]
    page.goto(f"{service.url}/new?architecture={program}")
    page.get_by_label("Data set", exact=True).select_option(unlabelled)
    expect(page.locator("#section-method summary")).to_contain_text("none")
    refusal = page.locator("#preview").get_by_role("alert")
    expect(refusal).to_contain_text("Unlabelled inputs")

    page.get_by_label("Unlabelled inputs", exact=True).select_option(unlabelled)
    page.get_by_label("Data set", exact=True).select_option("")

    expect(page.locator("#section-method summary")).not_to_contain_text("none")
    expect(page.locator("#section-quantize summary")).to_contain_text("calibrated")
    expect(refusal).to_have_count(0)
    expect(page.locator("#preview")).to_contain_text("Estimate")
