"""All pages: what they load, what protects them, and what they say where something is wrong."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.web.static_files import FOLDER
from tests.api_bench import BASE, Bench, add_baseline, add_job, add_point, claim, finish
from tests.html_page import HtmlPage

FIRST_PAGE_BYTES = 120_000


def finished_job(bench: Bench, **fields: Any) -> str:
    """The id of a job with two points."""
    job = claim(bench, add_job(bench, **fields))
    add_baseline(bench, job)
    add_point(bench, job, 0)
    add_point(bench, job, 1)
    finish(bench, job, selected=1)
    return job.id


def page_of(bench: Bench, path: str) -> HtmlPage:
    """A page that is answered with 200."""
    answer = bench.client.get(path)
    assert answer.status_code == 200, answer.text
    return HtmlPage(answer.text)


@pytest.fixture(scope="module")
def job(shared: Bench) -> str:
    """The id of a finished job whose name and labels contain markup."""
    return finished_job(shared, name="<b>one</b>", labels={"<i>": "'\""})


@pytest.fixture(
    params=[
        "/",
        "/login",
        "/jobs/{job}",
        "/jobs/{job}?point=0",
        "/jobs/{job}/delete",
        "/new",
        "/new?clone={job}",
        "/compare",
        "/compare?job={job}",
        "/studies",
    ]
)
def path(request: pytest.FixtureRequest, job: str) -> str:
    """The address of each page."""
    address: str = request.param
    return address.format(job=job)


def test_a_page_has_no_code_of_its_own(shared: Bench, path: str) -> None:
    """Scripts and styles are files of this server, so that the policy can forbid all others."""
    page = page_of(shared, path)

    assert page.inline_code == []
    assert page.unclosed == []
    assert all(address.startswith("/static/") for address in page.loads)
    for address in page.loads:
        assert shared.client.get(address).status_code == 200, address


def test_a_page_is_protected(shared: Bench, path: str) -> None:
    """The policy allows nothing inline and no other host; the page cannot be framed or cached by others."""
    headers = shared.client.get(path).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"].startswith("private")


def test_text_of_users_is_not_markup(shared: Bench, path: str) -> None:
    """Names and labels are shown as they are."""
    page = page_of(shared, path)

    assert ("b", {}) not in page.elements
    assert ("i", {}) not in page.elements


def test_ids_and_labels_of_a_page_fit(shared: Bench, path: str) -> None:
    """Each id occurs once, and what refers to one leads to it; the page has one title and one first heading."""
    page = page_of(shared, path)

    assert len(page.ids) == len(set(page.ids))
    referred = {
        word
        for _, values in page.elements
        for name in ("aria-labelledby", "aria-describedby", "for", "popovertarget")
        for word in (values.get(name) or "").split()
    }
    assert referred <= set(page.ids)
    names = [tag for tag, _ in page.elements]
    assert names.count("h1") == 1
    assert names.count("main") == 1
    assert all(values.get("scope") for tag, values in page.elements if tag == "th")


def test_every_link_of_a_page_has_a_target(shared: Bench, path: str) -> None:
    """Each link to this server is answered; those within a page have a target."""
    page = page_of(shared, path)

    for address in page.attributes("a", "href"):
        if address.startswith("#"):
            assert address[1:] in page.ids
        else:
            target = path.partition("?")[0] + address if address.startswith("?") else address
            assert shared.client.get(target.partition("#")[0]).status_code == 200, address


def test_a_job_leads_to_its_page_and_its_plot(shared: Bench, job: str) -> None:
    """By the addresses in its document."""
    urls = shared.client.get(f"/v1/jobs/{job}").json()["urls"]

    assert "text/html" in shared.client.get(urls["page"]).headers["content-type"]
    assert shared.client.get(urls["plot"]).headers["content-type"] == "image/svg+xml"


def test_the_first_page_is_small(shared: Bench, job: str) -> None:
    """With everything that it loads it stays below 120 kB, compressed as the server sends it."""
    assert job
    addresses = ["/", *page_of(shared, "/").loads]

    sizes = {}
    for address in addresses:
        with shared.client.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
            body = b"".join(answer.iter_raw())
        sizes[address] = len(body)
        if answer.headers.get("content-encoding") == "gzip":
            assert gzip.decompress(body)

    assert sum(sizes.values()) < FIRST_PAGE_BYTES, sizes


def test_static_files_with_a_version_are_kept(shared: Bench) -> None:
    """For a year under an address that names their version, and otherwise not without asking."""
    versioned = next(address for address in page_of(shared, "/").loads if "site.css" in address)

    assert "immutable" in shared.client.get(versioned).headers["cache-control"]
    plain = shared.client.get("/static/site.css")
    assert plain.headers["cache-control"] == "no-cache"
    again = shared.client.get("/static/site.css", headers={"If-None-Match": plain.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["nowhere.css", "../web/visitor.py", "%2e%2e/visitor.py", "vendor/"])
def test_only_static_files_are_sent(shared: Bench, name: str) -> None:
    """Nothing outside the folder, and no list of a folder."""
    assert shared.client.get(f"/static/{name}").status_code == 404
    assert (FOLDER / "site.css").exists()


def test_an_unknown_job_is_a_page(shared: Bench) -> None:
    """It says what to do, and so does the page for an id that cannot be one."""
    answer = shared.client.get("/jobs/job_nowhere")

    assert answer.status_code == 404
    assert "List your jobs" in HtmlPage(answer.text).text
    assert shared.client.get("/jobs/job_nowhere?point=x").status_code == 422


def test_an_unknown_page_is_a_page_for_browsers(shared: Bench) -> None:
    """Programs get a problem document instead."""
    html = shared.client.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
    api = shared.client.get("/v1/nowhere", headers={"Accept": "text/html"})

    assert html.status_code == 404
    assert "there is no such page" in HtmlPage(html.text).text
    assert shared.client.get("/nowhere").json()["code"] == "not_found"
    assert api.json()["code"] == "not_found"


def test_pages_work_behind_a_path(shared: Bench, job: str) -> None:
    """Where a proxy serves this server below a path, links, forms and files include it."""
    behind = TestClient(shared.app, base_url=BASE, client=("127.0.0.1", 1), root_path="/below")

    page = HtmlPage(behind.get(f"/below/jobs/{job}").text)

    addresses = page.loads + page.attributes("a", "href") + page.attributes("form", "action")
    assert [each for each in addresses if each[0] not in "?#" and not each.startswith("/below/")] == []
