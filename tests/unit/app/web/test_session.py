"""The session of a browser: logging in, what protects it, and logging out."""

from __future__ import annotations

import pytest

from app.api.session import COOKIE
from tests.api_bench import BASE, Bench, add_job
from tests.html_page import HtmlPage

SAME = {"Sec-Fetch-Site": "same-origin"}


def log_in(bench: Bench, key: str, **more: str) -> int:
    """Send the form; the status of the answer."""
    return bench.client.post("/login", data={"key": key, **more}, headers=SAME, follow_redirects=False).status_code


def test_a_page_leads_to_the_form_and_back(bench: Bench) -> None:
    """Once the server has keys, a browser without one is asked for it, then shown what it asked for."""
    _, secret = bench.backend.keys.create("ann")
    job = add_job(bench, owner="ann")

    asked = bench.client.get(f"/jobs/{job.id}?point=0", follow_redirects=False)
    form = HtmlPage(bench.client.get(asked.headers["location"]).text)
    back = form.attributes("input", "value")[0]
    shown = bench.client.post("/login", data={"key": secret, "next": back}, headers=SAME)

    assert asked.status_code == 303
    assert back == f"/jobs/{job.id}?point=0"
    assert shown.status_code == 200
    assert str(shown.url) == f"{BASE}/jobs/{job.id}?point=0"


def test_the_cookie_is_hidden_from_scripts_and_other_sites(bench: Bench) -> None:
    """Over HTTPS it is also sent by HTTPS only."""
    _, secret = bench.backend.keys.create("ann")
    secure = bench.from_address("10.0.0.7", "https://cnet.example")

    for client, flags in ((bench.client, {"httponly", "samesite=strict"}), (secure, {"secure", "httponly"})):
        answer = client.post("/login", data={"key": secret}, headers=SAME, follow_redirects=False)
        words = {word.strip().lower() for word in answer.headers["set-cookie"].split(";")}
        assert flags <= words


def test_a_wrong_key_is_refused(bench: Bench) -> None:
    """The form is shown again, with what to do; no cookie is set."""
    bench.backend.keys.create("ann")

    answer = bench.client.post("/login", data={"key": "wrong"}, headers=SAME)

    assert answer.status_code == 401
    assert "unknown or revoked" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\nb"])
def test_the_form_leads_to_this_server_only(bench: Bench, target: str) -> None:
    """A link with another target leads to the first page."""
    _, secret = bench.backend.keys.create("ann")

    answer = bench.client.post("/login", data={"key": secret, "next": target}, headers=SAME, follow_redirects=False)

    assert answer.headers["location"] == "/"


def test_the_session_reaches_the_api(bench: Bench) -> None:
    """Scripts of the page need no key of their own. The scope of the key holds."""
    _, secret = bench.backend.keys.create("ann", "read")
    assert log_in(bench, secret) == 303

    assert bench.client.get("/v1/jobs").status_code == 200
    assert bench.client.post("/v1/jobs", headers=SAME).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 400),
        ({"Origin": BASE}, 400),
        ({"Sec-Fetch-Site": "cross-site", "Origin": BASE}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[bad"}, 403),
        ({}, 403),
    ],
)
def test_other_sites_cannot_use_the_session(bench: Bench, headers: dict[str, str], status: int) -> None:
    """A request that changes something must come from this server's page. The 400 means that it was let through."""
    _, secret = bench.backend.keys.create("ann")
    assert log_in(bench, secret) == 303

    assert bench.client.post("/v1/jobs", headers=headers).status_code == status
    bearer = {**headers, "Authorization": f"Bearer {secret}"}
    assert bench.client.post("/v1/jobs", headers=bearer).status_code == 400


@pytest.mark.parametrize("path", ["/jobs/{job}/cancel", "/jobs/{job}/delete", "/logout"])
def test_forms_of_other_sites_are_refused(bench: Bench, path: str) -> None:
    """Also on a server without keys, where every page of this machine could send them."""
    job = add_job(bench)

    answer = bench.client.post(path.format(job=job.id), headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 403
    assert bench.backend.jobs.get(job.id) is not None


def test_logging_out_forgets_the_key(bench: Bench) -> None:
    """The next page asks for one again."""
    _, secret = bench.backend.keys.create("ann")
    assert log_in(bench, secret) == 303

    bench.client.post("/logout", headers=SAME)

    assert bench.client.get("/", follow_redirects=False).status_code == 303
    assert COOKIE not in bench.client.cookies


def test_a_revoked_key_ends_the_session(bench: Bench) -> None:
    """A part of a page that is asked for leads the whole page to the form."""
    key, secret = bench.backend.keys.create("ann")
    assert log_in(bench, secret) == 303
    bench.backend.keys.revoke(key.id)

    assert bench.client.get("/v1/jobs").status_code == 401
    assert bench.client.get("/", follow_redirects=False).headers["location"] == "/login?next=%2F"
    part = bench.client.get("/parts/jobs", headers={"HX-Request": "true"})
    assert part.headers["hx-redirect"] == "/login"


def test_a_malformed_cookie_is_none(bench: Bench) -> None:
    """It is as if none was sent."""
    bench.backend.keys.create("ann")

    assert bench.client.get("/v1/jobs", headers={"Cookie": "cnet_key=\x01;;;=a b"}).status_code == 401
