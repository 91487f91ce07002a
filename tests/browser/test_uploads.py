"""Uploads that fail, and uploads of the same file again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from playwright.sync_api import Browser, Page, expect

from cnet.training.programs import export_program
from tests.acceptance.service import Up
from tests.browser import chromium
from tests.small_program import small_network

REFUSED = ("422", "400")
"""What the console says of a request for an object that the server refuses to make."""


def test_a_file_that_cannot_be_read_asks_for_another(browser: Browser, service: Up, tmp_path: Path) -> None:
    """Going on would fail in the same way; the mended file can be chosen under the same name."""
    path = tmp_path / "mine.npz"
    path.write_bytes(b"no checkpoint at all" * 10)
    with chromium.new_context(browser) as context, chromium.quiet_page(context, REFUSED) as page:
        page.goto(f"{service.url}/new")
        box = page.locator("[data-upload=checkpoint]")
        box.locator("input").set_input_files(path)
        again = box.get_by_role("button", name="Choose another file")
        expect(again).to_be_visible()
        expect(box.get_by_role("button", name="Go on")).to_have_count(0)

        np.savez(path, weight=np.ones((2, 2), np.float32))
        with page.expect_file_chooser() as waiting:
            again.click()
        waiting.value.set_files(path)
        expect(box.get_by_text("is uploaded and chosen")).to_be_visible()


def test_the_same_file_again_is_one_choice(service: Up, page: Page, tmp_path: Path) -> None:
    """The newest upload, with its time; before and after the page is loaded again."""
    path = tmp_path / "twice.pt2"
    export_program(small_network(), torch.rand(4, 1, 8, 8), path)
    choices = page.locator("#field-architecture option").filter(has_text="twice.pt2")
    for _ in range(2):
        page.goto(f"{service.url}/new")
        for _ in range(2):
            page.locator("[data-upload=program] input").set_input_files([])
            page.locator("[data-upload=program] input").set_input_files(path)
            expect(page.get_by_text("is uploaded and chosen")).to_be_visible()
        expect(choices).to_have_count(1)
        expect(choices).to_contain_text(":")
