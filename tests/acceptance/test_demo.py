"""``cnet demo``, as `make demo` runs it."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from pathlib import Path

from tests.acceptance.service import COMMAND, cnet, environment, processes_of
from tests.processes import until
from tests.repository import ROOT


def test_the_demo_reaches_its_ratio_and_accuracy(tmp_path: Path) -> None:
    """At least 15 times smaller, at most one point of accuracy lost, measured twice; no process is left."""
    done = cnet("demo", "--data", tmp_path / "demo", "--json")

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    point, baseline = document["points"][document["selected"]], document["baseline"]
    assert point["ratio"] >= 15
    assert point["accuracy"] >= baseline["accuracy"] - 1
    assert document["local_accuracy"] == {"baseline": baseline["accuracy"], "selected": point["accuracy"]}
    content = (tmp_path / "demo" / "model.npz").read_bytes()
    assert hashlib.sha256(content).hexdigest() == document["sha256"] == point["sha256"]
    assert processes_of(tmp_path / "demo" / "service") == []


def test_ctrl_c_ends_the_demo_and_all_its_processes(tmp_path: Path) -> None:
    """The signal is sent during training; the exit code means cancelled."""
    # A shell that runs the tests in its background lets its children ignore the signal.
    command = ["env", "--default-signal=SIGINT", *COMMAND, "demo", "--data", str(tmp_path)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("service: http://")
    until(lambda: processes_of(tmp_path / "service"), what="the service")

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 3
    assert processes_of(tmp_path / "service") == []
