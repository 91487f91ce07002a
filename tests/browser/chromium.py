"""Debian's Chromium under Playwright, and a page that fails the test at the first message on its console."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright

PROGRAM = shutil.which("chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
WAIT_MILLISECONDS = 120_000


def skip_where_missing() -> None:
    """Skip the test where Chromium is not installed."""
    if PROGRAM is None:
        pytest.skip("Chromium is not installed")


def launch(playwright: Playwright) -> Browser:
    """A browser without a window."""
    return playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))


@contextmanager
def new_context(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A browser profile of its own, as Playwright's ``new_context`` makes it with these options."""
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_MILLISECONDS)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def quiet_page(context: BrowserContext, expected: tuple[str, ...] = ()) -> Iterator[Page]:
    """A page of a profile. At the end, no script has failed and the console has no error or warning.

    A violation of the content security policy is an error on the console.

    Args:
        context: the profile.
        expected: parts of messages that the test causes.
    """
    messages: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            messages.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: messages.append(f"script: {error}"))
    yield page
    page.close()
    unexpected = [line for line in messages if not any(part in line for part in expected)]
    assert not unexpected, unexpected
