"""Keys and the login, on a server that has keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from app.core.keys import ApiKeys
from tests.api_server import ApiServer, api_server
from tests.browser import chromium
from tests.browser.faults import NARROW, WIDE, serious_faults


@pytest.fixture(scope="module")
def server(browser: Browser) -> Iterator[ApiServer]:
    """An API on which a key of an administrator exists."""
    assert browser.is_connected()
    with api_server() as server:
        yield server


@pytest.fixture(scope="module")
def secret(server: ApiServer) -> str:
    """The key of the administrator."""
    return ApiKeys(server.database).create("root", "admin")[1]


def log_in(page: Page, key: str) -> None:
    """Fill the form for a key."""
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Log in").click()


def test_the_page_asks_for_a_key(server: ApiServer, secret: str, browser: Browser) -> None:
    """A wrong one is refused with what to do; the right one leads to the page that was asked for."""
    with chromium.new_context(browser) as context, chromium.quiet_page(context, ("401",)) as page:
        page.goto(f"{server.url}/studies")
        log_in(page, "wrong")
        expect(page.get_by_role("alert")).to_contain_text("unknown or revoked")
        log_in(page, secret)
        page.wait_for_url(f"{server.url}/studies")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("API key")).to_be_visible()


def test_an_admin_manages_keys(server: ApiServer, secret: str, page: Page, browser: Browser) -> None:
    """A new key is shown once and works; revoked, it does not; its owner has no page of keys."""
    page.goto(f"{server.url}/keys")
    log_in(page, secret)
    page.get_by_label("Owner").fill("ann")
    page.get_by_label("Scope").select_option("read")
    page.get_by_role("button", name="Create a key").click()
    made = page.get_by_label("The new key").inner_text()

    with chromium.new_context(browser) as context, chromium.quiet_page(context, ("401",)) as other:
        other.goto(server.url)
        log_in(other, made)
        expect(other.get_by_role("button", name="Log out")).to_be_visible()
        expect(other.get_by_role("link", name="Keys")).to_have_count(0)
        page.get_by_role("button", name=re.compile("of ann$")).click()
        expect(page.get_by_role("button", name=re.compile("of ann$"))).to_have_count(0)
        other.goto(server.url)
        expect(other.get_by_label("API key")).to_be_visible()


def test_the_pages_of_keys_have_no_serious_fault(server: ApiServer, secret: str, page: Page) -> None:
    """The form for a key and the list of keys, with one just made, on a light screen and on a dark phone."""
    page.goto(f"{server.url}/keys")
    login = _faults_in_both_looks(page)
    log_in(page, secret)
    page.get_by_label("Owner").fill("bob")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_label("The new key")).to_be_visible()

    assert (login, _faults_in_both_looks(page)) == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def _faults_in_both_looks(page: Page) -> list[str]:
    """The faults on a light screen, then those on a dark phone, which stays."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    light = serious_faults(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(NARROW)
    return light + serious_faults(page)
