"""``cnet up`` as a user starts it: a process, a data folder, a URL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cnet.client import Client
from tests.processes import until
from tests.repository import ROOT

COMMAND = (sys.executable, "-P", "-m", "app.cli")


def environment(**more: str) -> dict[str, str]:
    """The environment of the tests without the developer's settings of the service, and one thread for each job."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CNET_")}
    return {**clean, "OMP_NUM_THREADS": "1", "CNET_THREADS": "1", **more}


def cnet(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``cnet`` with ``arguments`` to its end."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environment(**variables), capture_output=True, text=True, check=False, timeout=240
    )


def processes_of(folder: Path) -> list[int]:
    """Ids of the processes of a data folder, by their environment or, for Valkey, by their working folder."""
    mark = f"CNET_DATA_DIR={folder}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            in_folder = (entry / "cwd").readlink().is_relative_to(folder)
            if in_folder or mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return sorted(found)


@dataclass
class Up:
    """A running ``cnet up``."""

    data: Path
    process: subprocess.Popen[str]
    url: str

    @classmethod
    def start(cls, data: Path, *options: str, python: str = sys.executable, **variables: str) -> Up:
        """Start the service on a free port with the interpreter ``python``, and wait until it is ready."""
        command = [python, *COMMAND[1:], "up", "--port", "0", "--data", str(data), *options]
        log = data.with_suffix(".stderr")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(**variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready http://"), log.read_text()
        return cls(data, process, line.split()[1])

    def client(self, api_key: str | None = None) -> Client:
        """A client of it."""
        return Client(self.url, api_key)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal and wait for the end. Returns the exit code and the rest of standard output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest

    def processes(self) -> list[int]:
        """Ids of its processes."""
        return processes_of(self.data)

    def gone(self) -> bool:
        """Whether no process of it is left."""
        return not self.processes()


def until_phase(client: Client, job_id: str, epochs: int) -> dict[str, Any]:
    """The job, once its fine-tuning has done ``epochs``."""

    def far_enough() -> dict[str, Any] | None:
        return client.job(job_id) if f"finetune: epoch {epochs}/" in client.logs(job_id) else None

    return until(far_enough, 120.0, f"epoch {epochs}")
