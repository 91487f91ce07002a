"""Damaged and hostile files for every reader: ``python -m benchmarks.robustness [--files N] [--write]``.

Each file is a mutation of a good one (``benchmarks.mutations``), the same for the same seed. A child process with
limits on memory and time reads many of them, one after the other; a program that is read is also built and run once
in training and once in evaluation. What is counted: files that were read, files that were refused with an error of
the library, other exceptions, deaths of the child, and files that took longer than ten seconds. Only the first two
may occur. ``--write`` makes docs/results/robustness.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.mutations import mutated
from benchmarks.robustness_seeds import RUN, SEEDS

ROOT = Path(__file__).resolve().parents[1]
_SECONDS = 10
_BATCH = 2000
_MEMORY = 6 * 2**30
_OUTCOMES = ("read", "refused", "exception", "died", "hung")


def main() -> None:
    """Run all kinds and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000, help="mutated files for each kind")
    parser.add_argument("--only", nargs="*", default=list(SEEDS), choices=list(SEEDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write docs/results/robustness.md")
    parser.add_argument("--child", nargs=3, metavar=("KIND", "FIRST", "LAST"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, first, last = options.child
        _child(kind, range(int(first), int(last)), options.seed)
        return
    rows = []
    for kind in options.only:
        start = time.monotonic()
        counts, memory = _counted(kind, options.files, options.seed)
        rows.append([kind, *(str(counts[outcome]) for outcome in _OUTCOMES), f"{memory / 2**20:.0f}"])
        print(" ".join(rows[-1]), f"({time.monotonic() - start:.0f} s)", flush=True)
    if options.write:
        command = f"python -m benchmarks.robustness --files {options.files} --seed {options.seed} --write"
        _write(rows, command)
    sys.exit(any(row[3:6] != ["0", "0", "0"] for row in rows))


def _counted(kind: str, files: int, seed: int) -> tuple[Counter[str], int]:
    """Outcomes of all mutations of a kind, and the most memory that a child had resident, in bytes."""
    counts: Counter[str] = Counter()
    memory = first = 0
    while first < files:
        last = min(files, first + _BATCH)
        command = [
            sys.executable,
            "-m",
            "benchmarks.robustness",
            "--seed",
            str(seed),
            "--child",
            kind,
            str(first),
            str(last),
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        for line in lines:
            counts[line["outcome"]] += 1
            memory = max(memory, line["memory"])
            if line["outcome"] == "exception":
                print(kind, line["file"], line["detail"], file=sys.stderr)
        first += len(lines)
        if first < last:
            outcome = "hung" if done.returncode == -signal.SIGALRM else "died"
            print(kind, first, outcome, done.returncode, done.stderr[-2000:], file=sys.stderr)
            counts[outcome] += 1
            first += 1
    return counts, memory


def _child(kind: str, numbers: range, seed: int) -> None:
    """Read the mutations of these numbers; one line of JSON for each. A hang is ended by the alarm signal."""
    from cnet.errors import CnetError

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    run = RUN[kind]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        seeds = SEEDS[kind](Path(folder))
        path = Path(folder) / "file"
        before = set(Path(folder).iterdir()) | {path}
        for number in numbers:
            random = np.random.default_rng([seed, number])
            path.write_bytes(mutated(seeds[number % len(seeds)], random))
            signal.alarm(_SECONDS)
            outcome, detail = _outcome(run, path, CnetError)
            signal.alarm(0)
            if not set(Path(folder).iterdir()) <= before:
                outcome, detail = "exception", "a file was made"
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            print(json.dumps({"file": number, "outcome": outcome, "detail": detail, "memory": memory}), flush=True)


def _outcome(run: Callable[[Path], None], path: Path, refusal: type[Exception]) -> tuple[str, str]:
    try:
        run(path)
    except refusal:
        return "refused", ""
    except MemoryError:
        return "refused", ""
    except Exception as error:  # noqa: BLE001 - what may not occur is counted, not let through
        return "exception", f"{type(error).__name__}: {error}"[:300]
    return "read", ""


def _rows(rows: list[list[str]]) -> Iterator[str]:
    yield "| kind | read | refused | other exceptions | deaths | hangs | most memory, MB |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _write(rows: list[list[str]], command: str) -> None:
    text = "\n".join(
        [
            "# Damaged and hostile files",
            "",
            *__doc__.split("\n\n")[1].splitlines(),
            "",
            f"`{command}`",
            "",
            *_rows(rows),
            "",
        ]
    )
    (ROOT / "docs" / "results" / "robustness.md").write_text(text)


if __name__ == "__main__":
    main()
