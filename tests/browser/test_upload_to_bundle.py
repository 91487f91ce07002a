"""A user's whole way through the page: upload, preset, estimate, watching, plot, download."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, expect

import cnet
from tests.acceptance.service import Up
from tests.api_server import CuttingProxy
from tests.browser import chromium

CUT = ("net::ERR_", "409 (Conflict)", "423 (Locked)")  # 423: the server still reads the request that was cut
"""What the console says of a request whose connection was cut, and of one that Chromium repeated by itself: what the
server had taken before the cut is not where the repeated request starts."""


def test_a_network_goes_from_upload_to_bundle(browser: Browser, service: Up, checkpoint: Path, tmp_path: Path) -> None:
    """The upload survives a cut; the job is watched to its end; the bundle is the one that the page names."""
    proxy = CuttingProxy(int(service.url.rpartition(":")[2]), [checkpoint.stat().st_size // 2])
    try:
        with chromium.new_context(browser) as context, chromium.quiet_page(context, CUT) as page:
            upload(page, f"http://127.0.0.1:{proxy.port}", checkpoint)
            assert proxy.cuts_left == 0
            describe_job(page)
            watch(page)
            download(page, tmp_path / "model.npz")
    finally:
        proxy.close()


def upload(page: Page, server: str, path: Path) -> None:
    """Send the file on the page of a new job, through a cut.

    After it the page goes on behind what the server has; Chromium may have repeated a request of which the server had
    taken nothing, without telling the page.
    """
    offsets: list[int] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            offsets.append(int(request.headers["upload-offset"]))

    page.on("request", note)
    page.goto(f"{server}/new")
    page.get_by_label("Drop a checkpoint here, or choose a file").set_input_files(path)
    expect(page.get_by_text("is uploaded and chosen")).to_be_visible()
    assert offsets[0] == 0
    assert offsets == sorted(offsets)


def describe_job(page: Page) -> None:
    """Fill the form: the network, its data, a preset, and settings with which nothing has to be searched for."""
    page.get_by_label("Network", exact=True).select_option("lenet300_100")
    page.get_by_label("Data set", exact=True).select_option("digits")
    page.get_by_label("As small as possible, losing little accuracy").check()
    page.locator("#field-max_drop").fill("60")
    page.get_by_text("All settings").click()
    page.locator("#section-training > summary").click()
    page.locator("[id='field-training.epochs']").fill("3")
    page.locator("#section-prune > summary").click()
    page.locator("#field-prune").select_option("magnitude")
    page.locator("[id='field-prune.sparsity']").fill("0.5")
    page.locator("#section-quantize > summary").click()
    page.locator("#field-quantize").select_option("kmeans")
    page.locator("[id='field-quantize.clusters']").fill("16")
    page.get_by_label("Name", exact=True).fill("Digits by hand")
    estimate = page.locator("#preview")
    expect(estimate.locator("dt").filter(has_text="Size")).to_be_visible()
    expect(estimate).to_contain_text("kB")
    page.get_by_role("button", name="Submit the job").click()
    page.wait_for_url(re.compile(r"/jobs/job_"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Digits by hand")


def watch(page: Page) -> None:
    """While the job runs there are phases, curves and log lines; then its summary, the plot and the table."""
    expect(page.get_by_role("list", name="Phases").get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_role("img", name="Training loss over the epochs").locator("canvas")).to_be_visible()
    expect(page.locator("#log")).to_contain_text("epoch 1/3")
    expect(page.locator("#progress .status")).to_have_text("succeeded", timeout=240_000)
    expect(page.get_by_label("Result", exact=True)).to_contain_text("Smaller")
    expect(page.locator("#points .plot svg").first).to_be_visible()
    expect(page.get_by_role("region", name="Table of points").get_by_role("row").nth(1)).to_be_visible()


def download(page: Page, path: Path) -> None:
    """Download the selected point; the file has the digest that the page shows, and decodes."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the bundle").click()
    waiting.value.save_as(path)
    bundle = cnet.open_bundle(path)
    bundle.verify()
    assert page.locator(".digest").first.inner_text() == hashlib.sha256(path.read_bytes()).hexdigest()
