"""One service, one browser, and one finished job for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from cnet.client import Client
from tests.acceptance.service import Up
from tests.browser import chromium

TRAINED = {
    "name": "Digits, two sparsities",
    "labels": {"team": "vision"},
    "architecture": "lenet300_100",
    "dataset": "digits",
    "method": {"name": "cnet", "lambda": 0.02},
    "training": {"epochs": 2, "batch_size": 64, "optimizer": {"name": "adam", "learning_rate": 0.003}},
    "prune": {"name": "magnitude", "sparsity": [0.5, 0.9], "gradual": {"epochs": 1}},
    "recover": {"epochs": 1},
    "quantize": {"name": "kmeans", "clusters": 16},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; it ends with the module: while Playwright runs, no other test of the process can run an event loop."""
    chromium.skip_where_missing()
    expect.set_options(timeout=chromium.WAIT_MILLISECONDS)
    with sync_playwright() as playwright:
        launched = chromium.launch(playwright)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """``cnet up`` in a temporary folder, without keys."""
    chromium.skip_where_missing()
    up = Up.start(tmp_path_factory.mktemp("service") / "data")
    yield up
    up.stop()


@pytest.fixture(scope="session")
def client(service: Up) -> Iterator[Client]:
    """A client of the service."""
    with service.client() as client:
        yield client


@pytest.fixture(scope="session")
def done(client: Client) -> dict[str, Any]:
    """A job that has trained a network and compressed it to two points."""
    job = client.wait(client.submit(TRAINED)["id"])
    assert job["status"] == "succeeded", job["error"]
    return job


@pytest.fixture(scope="session")
def checkpoint(client: Client, done: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trained network of that job, as a PyTorch file."""
    path = tmp_path_factory.mktemp("checkpoint") / "trained.pt"
    client.download_model(done["id"], path, format="torch")
    return path


@pytest.fixture(scope="session")
def checkpoint_id(client: Client, checkpoint: Path) -> str:
    """The id of that file on the server."""
    uploaded: str = client.upload_checkpoint(checkpoint)["id"]
    return uploaded


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page in a profile of its own, whose console stays empty."""
    with chromium.new_context(browser) as context, chromium.quiet_page(context) as page:
        yield page
