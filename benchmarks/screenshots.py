"""Pictures of every page with real jobs: light, dark, and on a screen 400 pixels wide.

    python -m benchmarks.screenshots [--out docs/img] [--server URL] [--only job]

It starts ``cnet up`` on a new folder, trains and compresses a network for handwritten digits, compresses its weights
once more without data, runs a study, and takes the pictures with Chromium, which has to be installed. With
``--server`` the pictures show a server that runs already, and jobs of an earlier call are used again. A second server,
which has API keys, shows the login and the page of keys.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from cnet.client import Client

WAIT_MILLISECONDS = 300_000
COLOURS = 256
"""Colours of a picture, which keep it small."""
TALLEST = 3300
"""Pixels of the height to which a picture is cut."""
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 400, "height": 800}, "color_scheme": "light", "has_touch": True},
}
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars"),
]
TRAINED: dict[str, Any] = {
    "name": "Digits: LeNet-300-100 from scratch",
    "labels": {"team": "vision"},
    "architecture": "lenet300_100",
    "dataset": "digits",
    "method": {"name": "cnet", "lambda": 0.02},
    "training": {"epochs": 12, "batch_size": 64, "optimizer": {"name": "adam", "learning_rate": 0.002}},
    "prune": {"name": "magnitude", "sparsity": [0.6, 0.8, 0.9, 0.95], "gradual": {"epochs": 4}},
    "recover": {"epochs": 2},
    "quantize": {"name": "kmeans", "clusters": [32, 8]},
}
DENSE: dict[str, Any] = {
    "name": "Digits: trained, not compressed",
    "architecture": "lenet300_100",
    "dataset": "digits",
    "baseline": {"epochs": 12},
    "method": {"name": "none"},
    "training": {"epochs": 0, "batch_size": 64},
    "prune": {"name": "magnitude", "sparsity": 0, "gradual": {"epochs": 0}},
    "recover": {"epochs": 0},
    "quantize": {"name": "none"},
}
MEASURED: dict[str, Any] = {
    "name": "Digits: weights alone",
    "architecture": "lenet300_100",
    "dataset": "digits",
    "method": {"name": "none"},
    "training": {"epochs": 0},
    "prune": {"name": "magnitude", "sparsity": [0.3, 0.6], "gradual": {"epochs": 0}},
    "recover": {"epochs": 0, "centroid_epochs": 0},
    "quantize": {"name": "kmeans", "clusters": [32, 8]},
}
RUINED: dict[str, Any] = {
    "name": "Digits: pruned without data",
    "prune": {"name": "magnitude", "sparsity": 0.97},
    "quantize": {"name": "kmeans", "clusters": 4},
}
RUNNING: dict[str, Any] = {**TRAINED, "name": "Digits: a long training", "training": {"epochs": 400, "batch_size": 64}}
STUDY: dict[str, Any] = {"name": "Three qualities", "labels": {"team": "vision"}}
GRID = {"quantize.quality": ["safe", "small", "smallest"]}


@contextmanager
def served(server: str | None, folder: Path) -> Iterator[str]:
    """The address of a server; without one that runs, of a new one on a folder, which ends with the block."""
    if server:
        yield server
        return
    command = [sys.executable, "-m", "app.cli", "up", "--port", "0", "--data", str(folder / "data")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[1]
    finally:
        process.terminate()
        process.wait()


def job_named(client: Client, spec: dict[str, Any]) -> str:
    """The id of a finished job with this specification, run now unless there is one of its name."""
    for job in client.jobs(limit=200):
        if job["name"] == spec["name"] and job["status"] == "succeeded":
            return str(job["id"])
    job = client.wait(client.submit(spec)["id"])
    assert job["status"] == "succeeded", job["error"]
    return str(job["id"])


def study_named(client: Client, spec: dict[str, Any]) -> str:
    """The id of a finished study with this specification, run now unless there is one of its name."""
    for study in client.studies():
        if study["name"] == spec["name"] and study["status"] == "succeeded":
            return str(study["id"])
    return str(client.wait_for_study(client.submit_study(spec, GRID)["id"])["id"])


def addresses(client: Client) -> dict[str, str]:
    """The address of each page, once everything that it shows has run."""
    trained = job_named(client, TRAINED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.pt"
        client.download_model(job_named(client, DENSE), path, format="torch")
        checkpoint = client.upload_checkpoint(path)["id"]
    measured = job_named(client, {**MEASURED, "checkpoint": checkpoint})
    ruined = job_named(client, {**RUINED, "checkpoint": checkpoint})
    study = study_named(client, {**STUDY, "checkpoint": checkpoint})
    running = client.submit(RUNNING)["id"]
    return {
        "running": f"/jobs/{running}",
        "jobs": "/",
        "job": f"/jobs/{trained}",
        "warned": f"/jobs/{ruined}",
        "new": f"/new?checkpoint={checkpoint}&architecture=lenet300_100&dataset=digits&preset=drop&name=Digits",
        "compare": f"/compare?job={trained}&job={measured}",
        "studies": "/studies",
        "study": f"/studies/{study}",
        "system": "/system",
        "delete": f"/jobs/{ruined}/delete",
        "docs": "/docs",
    }


WAIT_FOR = {
    "running": "#progress .state:has-text('left')",
    "job": "#curves canvas",
    "new": "#preview .estimate",
    "docs": ".swagger-ui .opblock",
}
"""What appears on a page some time after it was loaded, by the page's name."""


def take(browser: Browser, server: str, pages: dict[str, str], out: Path, key: str | None = None) -> None:
    """Write the pictures of all pages in all looks; with an API key, that of the login before them."""
    for look, options in LOOKS.items():
        context = browser.new_context(**options)  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        if key is not None:
            page.goto(server + "/login")
            write(page, out / f"login-{look}.png")
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url(server + "/")
        for name, address in pages.items():
            page.goto(server + address)
            if name in WAIT_FOR:
                page.wait_for_selector(WAIT_FOR[name])
            write(page, out / f"{name}-{look}.png")
        context.close()


def take_keys(browser: Browser, out: Path) -> None:
    """Write the pictures of the login and the page of keys, on a server that has two keys."""
    with tempfile.TemporaryDirectory() as folder:
        keys = [create_key(Path(folder), owner, scope) for owner, scope in (("root", "admin"), ("alice", "write"))]
        with served(None, Path(folder)) as server:
            take(browser, server, {"keys": "/keys"}, out, keys[0])


def create_key(folder: Path, owner: str, scope: str) -> str:
    """A new API key for a server on a folder."""
    command = [sys.executable, "-m", "app.cli", "keys", "create", "--owner", owner, "--scope", scope, "--json"]
    done = subprocess.run([*command, "--data", str(folder / "data")], stdout=subprocess.PIPE, text=True, check=True)
    return str(json.loads(done.stdout)["key"])


def write(page: Page, path: Path) -> None:
    """The whole page as a PNG file with few colours."""
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True, animations="disabled")))
    picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
    picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"{path}: {picture.width} x {picture.height}, {path.stat().st_size:,} bytes", flush=True)


def main() -> None:
    """Run the jobs, then take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/img"))
    parser.add_argument("--server")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(options.server, Path(folder)) as server,
        Client(server) as client,
        sync_playwright() as playwright,
    ):
        pages = addresses(client)
        chosen = {name: path for name, path in pages.items() if not options.only or name in options.only}
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        try:
            take(browser, server, chosen, options.out)
            if not options.only or "keys" in options.only:
                take_keys(browser, options.out)
        finally:
            browser.close()
            client.cancel(pages["running"].rpartition("/")[2])


if __name__ == "__main__":
    main()
