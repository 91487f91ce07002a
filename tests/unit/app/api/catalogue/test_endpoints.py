"""The catalogue over HTTP."""

from __future__ import annotations

from cnet.coding import ENCODERS
from cnet.models import ARCHITECTURES
from tests.api_bench import Bench


def test_catalogue(bench: Bench) -> None:
    """All parts with their parameters, and the limits."""
    catalogue = bench.client.get("/v1/catalogue").json()
    kinds = {"transforms", "methods", "pruners", "quantizers", "encoders", "architectures", "tasks", "datasets"}
    kinds |= {"formats", "dataset_formats"}
    assert set(catalogue) == {*kinds, "limits"}
    assert [row["name"] for row in catalogue["architectures"]] == list(ARCHITECTURES.names())
    assert [row["name"] for row in catalogue["encoders"]] == list(ENCODERS.names())
    for kind in kinds:
        for row in catalogue[kind]:
            assert set(row) == {"name", "summary", "source", "parameters"}
            assert row["summary"]
            assert row["source"]
    assert catalogue["limits"]["max_upload_bytes"] == bench.backend.settings.max_upload_bytes


def test_catalogue_needs_a_key_where_there_are_keys(bench: Bench) -> None:
    """The catalogue is part of /v1."""
    bench.backend.keys.create("ann")
    assert bench.client.get("/v1/catalogue").status_code == 401
