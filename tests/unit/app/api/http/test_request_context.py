"""The headers that every answer has."""

from __future__ import annotations

import pytest

from tests.api_bench import Bench


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/job_none", "/v1/nowhere"])
def test_answers_of_the_api_are_no_pages(bench: Bench, path: str) -> None:
    """A browser neither runs nor frames them, and does not guess their type."""
    headers = bench.client.get(path).headers

    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-request-id"]
