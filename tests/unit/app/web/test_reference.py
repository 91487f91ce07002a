"""The page ``/docs``."""

from __future__ import annotations

import re

import cnet
from tests.api_bench import Bench
from tests.html_page import HtmlPage


def test_the_page_needs_no_key(shared: Bench) -> None:
    """It shows nothing of any owner; it is served elsewhere too, and by HEAD."""
    answer = shared.from_address("10.0.0.7").get("/docs")

    assert answer.status_code == 200
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert shared.client.head("/docs").status_code == 200
    assert shared.client.get("/redoc").status_code == 404


def test_without_scripts_every_route_is_listed(shared: Bench) -> None:
    """With its example."""
    text = HtmlPage(shared.client.get("/docs").text).text

    for path, operations in shared.app.openapi()["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in text
    assert text.count("curl ") > 40


def test_no_internal_module_is_named(shared: Bench) -> None:
    """Only what ``import cnet`` offers, and the file types of its bundles."""
    text = HtmlPage(shared.client.get("/docs").text).text

    named = set(re.findall(r"\b(?:cnet|app|worker)\.([a-zA-Z_]\w*)", text))
    assert named <= {*cnet.__all__, "npz"}


def test_the_document_is_that_of_this_server(shared: Bench) -> None:
    """Its address is relative to the path below which a proxy serves it."""
    page = HtmlPage(shared.client.get("/docs").text)

    assert "/openapi.json" in page.attributes("div", "data-document")
