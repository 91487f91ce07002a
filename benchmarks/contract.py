"""Check that a running server keeps the HTTP contract that its OpenAPI document states.

``python -m benchmarks.contract`` lets schemathesis send generated requests to every route: valid ones, those at the
edges of what the schemas allow, and invalid ones. It fails on an answer with the status 500, on a status, a header or
a media type that the route does not document, and on a body that its schema does not allow. The figures go to
docs/results/service.md.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.contract_server import Contents, filled_server
from benchmarks.service_page import table, write_section

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
_FILES = 30  # most generated requests for each route that reads a file, which a new process does each time
_DELETABLE = 5  # most objects of each kind that the check may delete
_HOOKS = ("SCHEMATHESIS_HOOKS=benchmarks.contract_hooks", f"PYTHONPATH={Path(__file__).resolve().parents[1]}")
_KNOWN = 0.7  # the share of requests that name an object which is there


def main() -> int:
    """Run the check; the exit status is that of schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=450, help="generated requests for each route and mode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="requests at a time")
    parser.add_argument("--only", help="id of one route")
    parser.add_argument("--phases", default="examples,coverage,fuzzing", help="those of schemathesis, by commas")
    parser.add_argument("--no-page", action="store_true", help="leave docs/results/service.md as it is")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the processes of the server would stay
    server = filled_server(deletable=min(_DELETABLE, chosen.examples))
    with tempfile.TemporaryDirectory(prefix="contract-") as folder, server as contents:
        config, report = Path(folder) / "schemathesis.toml", Path(folder) / "report.json"
        document = Path(folder) / "openapi.json"
        document.write_text(httpx2.get(f"{contents.url}/openapi.json", timeout=300.0, trust_env=False).text)
        config.write_text(_toml(contents, min(_FILES, chosen.examples)))
        command = _command(config, report, chosen, [str(document), "--url", contents.url])
        started = time.monotonic()
        status = subprocess.run(command, check=False).returncode
        seconds = time.monotonic() - started
        summary = json.loads(report.read_text())
    cases = summary["test_cases"]
    print(
        f"{cases['generated']} cases in {seconds:.0f} s: {cases['unique_failures']} failures, {cases['errored']} errors"
    )
    if status == 0 and not chosen.no_page:
        write_section("contract", _section(summary, seconds, chosen))
    return status


def _command(config: Path, report: Path, chosen: argparse.Namespace, target: list[str]) -> list[str]:
    return [
        *("env", *_HOOKS, str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config)),
        *("run", *target, "--phases", chosen.phases, "--checks", ",".join(CHECKS)),
        *("--max-examples", str(chosen.examples), "--seed", str(chosen.seed), "--workers", str(chosen.workers)),
        *("--mode", "all", "--continue-on-failure", "--request-timeout", "100", "--no-color"),
        *("--report", "json", "--report-json-path", str(report), "--suppress-health-check", "all"),
        *(("--include-operation-id", chosen.only) if chosen.only else ()),
    ]


def _toml(contents: Contents, files: int) -> str:
    """The configuration of schemathesis: the key, and where it finds ids of objects that are there.

    Args:
        contents: what the server holds.
        files: generated requests for each route that reads a file.
    """
    ids = contents.ids
    lines = [f'[headers]\nAuthorization = {json.dumps(f"Bearer {contents.key}")}\nAccept = "application/json"']
    lines.append("[phases.fuzzing.extra-data-sources]\nresponses = false  # or the check revokes its own key")
    lines += [f"[dictionaries.{name}]\nvalues = {json.dumps(found)}" for name, found in ids.items()]
    lines.append("[dictionaries.waits]\nvalues = [0, 0.01, 0.05]  # or a request waits for a minute")
    places = {
        "checkpoint": ("path.checkpoint_id", "query.checkpoint", "body.checkpoint", "body.spec.checkpoint"),
        "dataset": ("path.dataset_id", "body.dataset"),
        "program": ("path.program_id",),
        "job": ("path.job_id",),
        "study": ("path.study_id", "query.study"),
        "upload": ("path.upload_id", "body.upload"),
        "digest": ("path.digest",),
    }
    lines.append("[parameters]")
    lines += [
        f'"{place}" = {{ dictionary = "{_plural(name)}", probability = {_KNOWN} }}'
        for name, found in places.items()
        for place in found
    ]
    lines.append('"query.wait" = { dictionary = "waits", probability = 1.0 }')
    for name in ("checkpoint", "dataset", "program", "job", "study", "upload"):
        lines.append(_deleting(f"delete_{name}", f"{name}_id", f"deletable_{_plural(name)}"))
    for name in ("checkpoint", "dataset", "program"):
        found = f'[[operations]]\ninclude-operation-id = "create_{name}"\ngeneration = {{ max-examples = {files} }}'
        lines.append(found)
    lines.append(_deleting("revoke_key", "key_id", "deletable_keys"))
    return "\n".join(lines) + "\n"


def _deleting(operation: str, parameter: str, dictionary: str) -> str:
    """The configuration of a route that deletes: it has objects of its own."""
    binding = f'{{ dictionary = "{dictionary}", probability = {_KNOWN} }}'
    return f'[[operations]]\ninclude-operation-id = "{operation}"\nparameters = {{ "path.{parameter}" = {binding} }}'


def _plural(name: str) -> str:
    return "studies" if name == "study" else f"{name}s"


def _section(summary: dict[str, Any], seconds: float, chosen: argparse.Namespace) -> str:
    """The section of the page."""
    operations, cases = summary["operations"], summary["test_cases"]
    rows = [
        ["routes", f"{operations['tested']} of {operations['total']}"],
        ["requests", f"{cases['generated']:,}"],
        ["answers that break the contract", str(cases["unique_failures"])],
        ["seconds", f"{seconds:.0f}"],
    ]
    return (
        f"## Contract\n\nschemathesis {version('schemathesis')} reads `/openapi.json` of a running server on "
        "PostgreSQL that holds objects of every kind, and sends requests of its own making to every route: examples, "
        f"values at the edges of the schemas, and random ones (seed {chosen.seed}), valid and invalid. Checked are "
        f"{', '.join(CHECKS)}.\n\n{table(['what', 'number'], rows)}\n\n"
        f"`python -m benchmarks.contract --examples {chosen.examples}`"
    )


if __name__ == "__main__":
    sys.exit(main())
