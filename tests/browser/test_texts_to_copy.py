"""The same job elsewhere: what the form shows to copy works as it is pasted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cnet.client import Client
from tests.acceptance.service import Up, environment


@pytest.fixture
def texts(service: Up, checkpoint_id: str, page: Page) -> dict[str, str]:
    """The texts of a form with a checkpoint, a preset and a name that no shell must read."""
    page.goto(f"{service.url}/new")
    page.get_by_label("Checkpoint", exact=True).select_option(checkpoint_id)
    page.get_by_label("Name", exact=True).fill('Pasted: it\'s $(id) "quoted"')
    preview = page.locator("#preview")
    expect(preview.locator("pre").first).to_contain_text("Pasted")
    return {name: text_of(page, name) for name in ("JSON", "curl", "Command line", "Python")}


def text_of(page: Page, name: str) -> str:
    """What the button beside a text copies, which is what it shows."""
    text = page.get_by_label(f"The job as {name}").text_content()
    assert text
    return text


def test_each_text_submits_the_job(texts: dict[str, str], client: Client, tmp_path: Path) -> None:
    """As JSON by the client, as a command of curl, as a command of ours, and as a program."""
    named = json.loads(texts["JSON"])["name"]
    by_client = client.submit(json.loads(texts["JSON"]))["id"]
    by_curl = json.loads(run(["bash", "-euc", texts["curl"]], tmp_path))["id"]
    run(["bash", "-euc", texts["Command line"]], tmp_path)
    program = run([sys.executable, "-c", texts["Python"]], tmp_path)

    same = [job for job in client.jobs(limit=200) if job["name"] == named]
    assert len(same) == 4
    assert {by_client, by_curl} <= {job["id"] for job in same}
    assert all(job["spec"] == same[0]["spec"] for job in same)
    assert "succeeded" in program


def run(command: list[str], folder: Path) -> str:
    """Run a command to its end in a folder, as in a shell in which ``cnet`` is installed; its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=environment(PATH=path), capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
