"""Generated requests to every route of a running server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.postgres import binaries
from tests.repository import ROOT


@pytest.mark.postgres
@pytest.mark.timeout(900)  # a busy machine needs three minutes
def test_no_generated_request_gets_an_undocumented_answer() -> None:
    """Four for each route, by schemathesis; ``python -m benchmarks.contract`` sends many more."""
    binaries()  # or a skip
    options = ("--phases", "fuzzing", "--examples", "4", "--no-page")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.contract", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(": 0 failures, 0 errors")
