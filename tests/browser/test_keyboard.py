"""The page without a mouse."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.acceptance.service import Up

MOST_TABS = 150


def test_a_job_is_submitted_by_keyboard(service: Up, checkpoint_id: str, page: Page) -> None:
    """Skip link, selects, radio buttons and the button are reached in order, and the focus is always visible."""
    assert checkpoint_id
    page.goto(f"{service.url}/new")
    page.keyboard.press("Tab")
    assert _focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    _tab_to(page, "#field-checkpoint")
    page.keyboard.press("ArrowDown")
    _tab_to(page, "#field-architecture")
    page.keyboard.type("lenet300")
    expect(page.locator("#field-architecture")).to_have_value("lenet300_100")
    page.keyboard.press("Home")
    _tab_to(page, "#preset-safe")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    _tab_to(page, "#field-name")
    page.keyboard.type("By keyboard")
    expect(page.locator("#preview")).to_contain_text("Compressible")
    _tab_to(page, "button.submit")
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile(r"/jobs/job_"))
    expect(page.locator("#progress .status")).to_have_text("succeeded")
    expect(page.get_by_role("heading", level=1)).to_have_text("By keyboard")


def test_columns_are_explained_by_keyboard(service: Up, done: dict[str, Any], page: Page) -> None:
    """The explanation of a column appears with the focus and goes with it, and on hover; Escape closes it."""
    page.goto(f"{service.url}/jobs/{done['id']}")
    hint = page.locator("#column-ratio")
    page.locator("[popovertarget=column-ratio]").focus()
    expect(hint).to_be_visible()
    page.keyboard.press("Escape")
    expect(hint).to_be_hidden()
    page.locator("[popovertarget=column-sparsity]").focus()
    expect(page.locator("#column-sparsity")).to_be_visible()
    page.locator("[popovertarget=column-ratio]").hover()
    expect(hint).to_be_visible()


def _focused(page: Page) -> str:
    text: str = page.evaluate("document.activeElement.textContent.trim()")
    return text


def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus; whatever has it on the way shows it."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        seen, there = page.evaluate(
            """(selector) => {
                const at = document.activeElement, style = getComputedStyle(at);
                return [style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0, at.matches(selector)];
            }""",
            selector,
        )
        assert seen, f"the focus on {_focused(page)!r} is not visible"
        if there:
            return
    raise AssertionError(f"{selector} is not reached by the keyboard")
