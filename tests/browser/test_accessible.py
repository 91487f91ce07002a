"""Every page for every reader: axe finds no serious fault, a phone shows it whole, and scripts may be off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from cnet.client import Client
from tests.acceptance.service import Up
from tests.browser import chromium
from tests.browser.faults import NARROW, WIDE, serious_faults

PAGES = {
    "jobs": "/",
    "job": "/jobs/{job}",
    "delete": "/jobs/{job}/delete",
    "new": "/new",
    "clone": "/new?clone={job}",
    "compare": "/compare?job={job}",
    "choose": "/compare",
    "studies": "/studies",
    "study": "/studies/{study}",
    "system": "/system",
    "login": "/login",
    "missing": "/jobs/job_nowhere",
    "docs": "/docs",
}


@pytest.fixture(scope="module")
def addresses(service: Up, client: Client, done: dict[str, Any], checkpoint_id: str) -> dict[str, str]:
    """The address of each page."""
    spec = {"checkpoint": checkpoint_id, "name": "Two qualities"}
    study = client.submit_study(spec, {"quantize.quality": ["safe", "small"]})
    client.wait_for_study(study["id"])
    return {name: service.url + path.format(job=done["id"], study=study["id"]) for name, path in PAGES.items()}


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Iterator[Page]:
    """One page for all tests of the module."""
    expected = ("404",)
    with chromium.new_context(browser) as context, chromium.quiet_page(context, expected) as page:
        yield page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_fault(name: str, addresses: dict[str, str], shown: Page) -> None:
    """By the rules of axe, on a light screen and on a dark phone; nothing is wider than the page."""
    shown.set_viewport_size(WIDE)
    shown.emulate_media(color_scheme="light")
    shown.goto(addresses[name])
    _settle(shown, name)
    on_screen = serious_faults(shown)
    shown.emulate_media(color_scheme="dark")
    shown.set_viewport_size(NARROW)

    assert (on_screen, serious_faults(shown)) == ([], [])
    assert shown.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


@pytest.mark.parametrize("name", [name for name in PAGES if name not in {"login", "missing"}])
def test_a_page_is_readable_without_scripts(name: str, addresses: dict[str, str], browser: Browser) -> None:
    """Headings, tables, figures and forms are in the page itself."""
    with (
        chromium.new_context(browser, java_script_enabled=False) as context,
        chromium.quiet_page(context) as page,
    ):
        page.goto(addresses[name])
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for selector in READABLE.get(name, []):
            expect(page.locator(selector).first).to_be_visible()


READABLE = {
    "jobs": ["table.jobs", "button:text('Compare the ticked jobs')"],
    "job": ["#curves svg", "#points .plot svg", "table.points", "table.layers", "a:text('Download the bundle')"],
    "new": ["#field-checkpoint", "#preset-drop", "button.submit"],
    "compare": [".plot svg"],
    "study": ["#study table"],
    "system": ["#system table"],
    "docs": ["#reference code"],
}


def _settle(page: Page, name: str) -> None:
    """Wait for what scripts add to a page."""
    if name == "docs":
        expect(page.locator(".swagger-ui .opblock").first).to_be_visible()
    elif name in {"new", "clone"}:
        expect(page.locator("#preview h2").first).to_be_visible()
    elif name == "job":
        expect(page.locator("#curves canvas").first).to_be_visible()
