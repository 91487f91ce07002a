"""What axe finds on a page, and the two screens on which pages are looked at."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 400, "height": 800}


def serious_faults(page: Page) -> list[str]:
    """The serious and critical faults, each with the elements that have it."""
    found = Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {node['html'][:200]} ({node.get('failureSummary', '')[:200]})"
        for fault in found
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"][:3]
    ]
