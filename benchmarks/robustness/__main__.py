"""Damaged and hostile files for every reader: ``python -m benchmarks.robustness [--files N] [--write]``.

Each file is a mutation of a good or hostile one (``mutations``), the same for the same seed. A child process limits
itself as the service's sandbox does and then answers the sandbox's requests, one file after the other: it reads the
file and writes its canonical form. What it has written is read back; a bundle is verified and decoded; a program is
also built, and run once in evaluation and once in training with a backward pass. What is counted: files that were read,
files that were refused with an error of the library, other exceptions, deaths of the child, and files that took longer
than ten seconds of processor time. Only the first two may occur. A refusal that is not one readable paragraph counts as
an exception, and so does a warning of NumPy, a file that is made outside the target folder, a process that is started,
a pickle that imports a name, a library that is loaded or a connection that is opened (Python's audit events are
watched). Memory is the largest resident set of a child, with Python and the readers, for programs with PyTorch.

``--state FOLDER`` keeps finished parts, so that a run that was ended goes on. ``--write`` makes
docs/results/robustness.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

from benchmarks.robustness.child import answer_files
from benchmarks.robustness.counting import OUTCOMES, Counts, Part, counted, make_good_files
from benchmarks.robustness.kinds import KINDS, write_good_files

ROOT = Path(__file__).resolve().parents[2]
_PART = 4000


def main() -> None:
    """Run all kinds and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000, help="mutated files for each kind")
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2, help="children at a time")
    parser.add_argument("--state", type=Path, help="folder of finished parts")
    parser.add_argument("--write", action="store_true", help="write docs/results/robustness.md")
    parser.add_argument("--child", nargs=3, metavar=("KIND", "FIRST", "LAST"), help=argparse.SUPPRESS)
    parser.add_argument("--good-files", metavar="KIND", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, first, last = options.child
        answer_files(KINDS[kind], options.state / "good" / kind, range(int(first), int(last)), options.seed)
        return
    if options.good_files:
        write_good_files(options.good_files, options.state / "good" / options.good_files)
        return
    with nullcontext(options.state) if options.state else tempfile.TemporaryDirectory() as folder:
        rows = [_row(kind, options, Path(folder)) for kind in options.only]
    if options.write:
        _write(rows, f"python -m benchmarks.robustness --files {options.files} --seed {options.seed} --write")
    sys.exit(any(counts.faults for _, counts in rows))


def _row(kind: str, options: argparse.Namespace, folder: Path) -> tuple[str, Counts]:
    """The outcomes of all mutations of one kind, which are also printed."""
    start = time.monotonic()
    make_good_files(kind, folder)
    bounds = [(first, min(options.files, first + _PART)) for first in range(0, options.files, _PART)]
    parts = [Part(kind, first, last, options.seed, folder) for first, last in bounds]
    with ThreadPoolExecutor(options.processes) as pool:
        counts = Counts.sum(pool.map(counted, parts))
    print(kind, counts.cells(), f"({time.monotonic() - start:.0f} s)", flush=True)
    return kind, counts


def _write(rows: list[tuple[str, Counts]], command: str) -> None:
    total = Counts.sum(counts for _, counts in rows)
    text = [
        "# Damaged and hostile files",
        "",
        *(__doc__ or "").split("\n\n")[1].splitlines(),
        "",
        f"`{command}`",
        "",
        *_table([*rows, ("all", total)]),
        "",
    ]
    (ROOT / "docs" / "results" / "robustness.md").write_text("\n".join(text))


def _table(rows: list[tuple[str, Counts]]) -> Iterator[str]:
    yield f"| kind | {' | '.join(OUTCOMES.values())} | most memory, MB |"
    yield "|---|" + "---:|" * (len(OUTCOMES) + 1)
    for kind, counts in rows:
        yield f"| {kind} | {' | '.join(counts.cells())} |"


if __name__ == "__main__":
    main()
