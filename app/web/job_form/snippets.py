"""The same job for other ways to submit it: as JSON, and as commands and a program to copy."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from typing import Any


def snippets(document: Mapping[str, Any], grid: Mapping[str, Any], server: str, *, with_key: bool) -> dict[str, str]:
    """Texts that submit a job, or a study of jobs, by the name of the way.

    Args:
        document: the specification.
        grid: of the study; empty for a job.
        server: address of the server.
        with_key: whether the server asks for an API key, which the texts take from ``CNET_API_KEY``.
    """
    sent = {"spec": document, "grid": grid} if grid else document
    text = json.dumps(sent, indent=2, ensure_ascii=False)
    curl = _curl(text, f"{server}/v1/{'studies' if grid else 'jobs'}", with_key=with_key)
    if grid:
        return {"JSON": text, "curl": curl}
    return {
        "JSON": text,
        "curl": curl,
        "Command line": _command(text, server),
        "Python": _python(document, server, with_key=with_key),
    }


def _curl(text: str, url: str, *, with_key: bool) -> str:
    key = '  -H "Authorization: Bearer $CNET_API_KEY" \\\n' if with_key else ""
    data = f"  -H 'Content-Type: application/json' \\\n  --data {shlex.quote(text)}"
    return f"curl --fail-with-body {shlex.quote(url)} \\\n{key}{data}"


def _command(text: str, server: str) -> str:
    return (
        f"cat > job.json <<'END_OF_JOB'\n{text}\nEND_OF_JOB\n"
        f"cnet submit --spec job.json --server {shlex.quote(server)} --wait"
    )


def _python(document: Mapping[str, Any], server: str, *, with_key: bool) -> str:
    # Part of the text that the user copies: the script reads the user's environment; nothing is read here.
    key = ', os.environ["CNET_API_KEY"]' if with_key else ""
    needed = "import os\n\n" if with_key else ""
    return (
        f"{needed}from cnet.client import Client\n\n"
        f"job_spec = {pprint.pformat(dict(document), sort_dicts=False, width=88)}\n\n"
        f"with Client({server!r}{key}) as client:\n"
        '    job = client.wait(client.submit(job_spec)["id"])\n'
        '    print(job["status"], client.results(job["id"])["points"])\n'
    )
