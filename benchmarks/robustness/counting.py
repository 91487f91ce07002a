"""Runs the children of one kind of file and counts what they report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

OUTCOMES = {
    "read": "read",
    "refused": "refused",
    "exception": "other exceptions",
    "died": "deaths",
    "hung": "hangs",
}
"""What can become of a file, and the heading of its column."""

_MODULE = [sys.executable, "-m", "benchmarks.robustness"]
_ONE_THREAD = ["env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"]
_HANGS = {-signal.SIGVTALRM, -signal.SIGALRM}


@dataclass(frozen=True)
class Counts:
    """How many files had each outcome, and the most memory that a child had resident, in bytes."""

    outcomes: Counter[str]
    memory: int

    @classmethod
    def sum(cls, several: Iterable[Counts]) -> Counts:
        """All counts together."""
        rows = list(several)
        total = sum((row.outcomes for row in rows), Counter[str]())
        return cls(total, max((row.memory for row in rows), default=0))

    @property
    def faults(self) -> int:
        """The files that were neither read nor refused."""
        return self.outcomes.total() - self.outcomes["read"] - self.outcomes["refused"]

    def cells(self) -> list[str]:
        """The outcomes in order, and the memory in MB."""
        return [*(f"{self.outcomes[name]:,}" for name in OUTCOMES), f"{self.memory / 2**20:.0f}"]


@dataclass(frozen=True)
class Part:
    """Some mutations of one kind: those with the numbers from ``first`` to ``last``, made with ``seed``."""

    kind: str
    first: int
    last: int
    seed: int
    folder: Path

    @property
    def record(self) -> Path:
        """The file that says what became of them, once all are done."""
        return self.folder / "done" / f"{self.kind}-{self.seed}-{self.first}-{self.last}.json"


def counted(part: Part) -> Counts:
    """The outcomes of a part: from its record, or from children, each of which goes on where the last one died."""
    if part.record.exists():
        document = json.loads(part.record.read_text())
        return Counts(Counter(document["outcomes"]), document["memory"])
    counts, memory, first = Counter[str](), 0, part.first
    while first < part.last:
        done = _child(part, first)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        for line in lines:
            counts[line["outcome"]] += 1
            memory = max(memory, line["memory"])
            if line["outcome"] == "exception":
                print(part.kind, line["file"], line["detail"], file=sys.stderr, flush=True)
        first += len(lines)
        if first < part.last:
            outcome = "hung" if done.returncode in _HANGS else "died"
            print(part.kind, first, outcome, done.returncode, done.stderr[-2000:], file=sys.stderr, flush=True)
            counts[outcome] += 1
            first += 1
    part.record.parent.mkdir(parents=True, exist_ok=True)
    draft = part.record.with_suffix(".draft")
    draft.write_text(json.dumps({"outcomes": counts, "memory": memory}))
    draft.replace(part.record)
    return Counts(counts, memory)


def make_good_files(kind: str, folder: Path) -> None:
    """Let a child write the good files of a kind: PyTorch in this process would count as memory of its children."""
    subprocess.run([*_MODULE, "--state", str(folder), "--good-files", kind], check=True)


def _child(part: Part, first: int) -> subprocess.CompletedProcess[str]:
    """A child that has read the files from ``first`` on, or some of them. It computes with one thread."""
    options = ["--seed", str(part.seed), "--state", str(part.folder)]
    command = [*_ONE_THREAD, *_MODULE, *options, "--child", part.kind, str(first), str(part.last)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
