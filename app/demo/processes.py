"""The processes that the demo starts. Each of them ends when the demo ends, even if it is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.core.launch import bound_command
from app.core.settings import Settings
from app.demo import recipe
from app.up.errors import StartError

_STOP_SECONDS = 60.0


def environment() -> dict[str, str]:
    """The environment variables of all processes."""
    threads = str(recipe.THREADS)
    own = {"CNET_THREADS": threads, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    return {**Settings().environment(), **own}


@contextmanager
def running_service(data: Path, log: Path) -> Iterator[str]:
    """Run ``cnet up`` on a free port of this machine while the context lasts; gives its URL.

    Raises:
        StartError: it did not start; the message has what it printed.

    """
    command = ("-P", "-m", "app.cli", "up", "--host", "127.0.0.1", "--port", "0", "--data", str(data))
    with log.open("w") as errors, _started(command, environment(), errors) as process:
        line = process.stdout.readline() if process.stdout else ""
        kind, _, url = line.strip().partition(" ")
        if kind != "ready":
            process.wait()
            said = log.read_text().strip().removeprefix("cnet: ")
            raise StartError(said or f"the service did not start. Read the reason in {log}.")
        yield url


def network_messages(command: tuple[str, ...], log: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects that ``app.demo.network`` prints, one a line.

    Raises:
        StartError: it failed.

    """
    with (
        log.open("w") as errors,
        _started(("-P", "-m", "app.demo.network", *command), environment(), errors) as process,
    ):
        for line in process.stdout or ():
            yield json.loads(line)
        if process.wait():
            last = (log.read_text().strip().splitlines() or ["no output"])[-1]
            raise StartError(f"the step {command[0]} failed: {last}. Read the reason in {log}.", code="demo_failed")


@contextmanager
def _started(command: tuple[str, ...], variables: Mapping[str, str], errors: Any) -> Iterator[subprocess.Popen[str]]:
    """A Python process in a session of its own, so that Ctrl-C reaches only the demo."""
    process = subprocess.Popen(
        bound_command([sys.executable, *command]),
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
