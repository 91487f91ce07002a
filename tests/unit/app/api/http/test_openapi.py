"""The OpenAPI document."""

from __future__ import annotations

from tests.api_bench import Bench


def test_documentation(bench: Bench) -> None:
    """Every route has an id of its own and a summary, and every reference has a target."""
    assert bench.client.get("/docs").status_code == 200
    document = bench.client.get("/openapi.json").json()
    operations = [row for path in document["paths"].values() for row in path.values()]
    names = [row["operationId"] for row in operations]
    assert len(set(names)) == len(names)
    assert all(row["summary"] and "#/components/responses/" in str(row["responses"]) for row in operations)
    assert all("application/problem+json" in row["content"] for row in document["components"]["responses"].values())
    schemas = document["components"]["schemas"]
    references = {
        part.split('"')[0] for part in bench.client.get("/openapi.json").text.split('"#/components/schemas/')[1:]
    }
    assert references <= set(schemas)
    upload = document["paths"]["/v1/checkpoints"]["post"]
    assert {row["name"] for row in upload["parameters"]} == {
        *("filename", "sha256", "weights_key", "strip_prefix", "Idempotency-Key")
    }


def test_every_field_and_parameter_is_described(bench: Bench) -> None:
    """Constants need no description."""
    document = bench.client.get("/openapi.json").json()
    fields = [
        (f"{name}.{field}", schema)
        for name, model in document["components"]["schemas"].items()
        for field, schema in model.get("properties", {}).items()
    ]
    parameters = [
        (f"{row['operationId']}({parameter['name']})", {**parameter["schema"], **parameter})
        for path in document["paths"].values()
        for row in path.values()
        for parameter in row.get("parameters", [])
    ]
    assert [name for name, schema in fields + parameters if not {"description", "const"} & set(schema)] == []
