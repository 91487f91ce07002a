"""The same job as JSON, and as commands and a program to copy."""

from __future__ import annotations

import ast
import json
import shlex

import pytest

from app.web.job_form.snippets import snippets

SPEC = {"checkpoint": "ckpt_1", "name": 'it\'s; $(id) \\ "quoted" é', "prune": {"name": "magnitude", "sparsity": [0.9]}}
SERVER = "http://127.0.0.1:8000"


@pytest.mark.parametrize("with_key", [True, False])
def test_each_text_holds_the_same_job(with_key: bool) -> None:
    """Read back as a shell and as Python would read it; names of users run nothing."""
    texts = snippets(SPEC, {}, SERVER, with_key=with_key)

    assert json.loads(texts["JSON"]) == SPEC
    words = shlex.split(texts["curl"])
    assert words[:3] == ["curl", "--fail-with-body", f"{SERVER}/v1/jobs"]
    assert json.loads(words[words.index("--data") + 1]) == SPEC
    assert ("Authorization: Bearer $CNET_API_KEY" in words) is with_key
    lines = texts["Command line"].splitlines()
    assert json.loads("\n".join(lines[1:-2])) == SPEC
    assert shlex.split(lines[-1]) == ["cnet", "submit", "--spec", "job.json", "--server", SERVER, "--wait"]
    assignment = next(node for node in ast.parse(texts["Python"]).body if isinstance(node, ast.Assign))
    assert ast.literal_eval(assignment.value) == SPEC
    assert ("CNET_API_KEY" in texts["Python"]) is with_key


def test_a_study_is_sent_with_its_grid() -> None:
    """To the route of studies."""
    grid = {"method.lambda": [0.01, 0.1]}

    words = shlex.split(snippets(SPEC, grid, SERVER, with_key=False)["curl"])

    assert words[2] == f"{SERVER}/v1/studies"
    assert json.loads(words[words.index("--data") + 1]) == {"spec": SPEC, "grid": grid}
