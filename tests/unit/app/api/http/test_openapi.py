"""The OpenAPI document."""

from __future__ import annotations

from tests.api_bench import Bench


def test_documentation(bench: Bench) -> None:
    """The document names every route once, with a summary, and every reference leads somewhere."""
    assert bench.client.get("/docs").status_code == 200
    document = bench.client.get("/openapi.json").json()
    operations = [row for path in document["paths"].values() for row in path.values()]
    names = [row["operationId"] for row in operations]
    assert len(set(names)) == len(names)
    assert all(row["summary"] and "application/problem+json" in str(row["responses"]) for row in operations)
    schemas = document["components"]["schemas"]
    references = {
        part.split('"')[0] for part in bench.client.get("/openapi.json").text.split('"#/components/schemas/')[1:]
    }
    assert references <= set(schemas)
    upload = document["paths"]["/v1/checkpoints"]["post"]
    assert {row["name"] for row in upload["parameters"]} == {
        *("filename", "sha256", "weights_key", "strip_prefix", "Idempotency-Key")
    }
