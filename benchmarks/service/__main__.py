"""The service under load, on SQLite and PostgreSQL: ``python -m benchmarks.service [--only PART ...] [--write]``.

Every part starts real processes on this machine and speaks HTTP with them. ``--write`` replaces the section of the
parts in docs/results/service.md; ``--state FILE`` keeps finished parts, so that a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.service import polling, queueing, streams, uploading
from benchmarks.service.servers import DATABASES
from benchmarks.service_page import table, write_section

Row = list[str]

_MIB = 2**20
_COLUMNS = ("measured", "database", "result", "goal")
_INTRODUCTION = """\
## Load

Made by `python -m benchmarks.service --write`, on one machine with {processors} processors that many other processes
used at the same time. A bare route is a FastAPI application with one route that reads the same row with the same
engine, server and connection pool, and checks no key. A page of the list shows the place of each job in the queue: the
first 500 are counted, the others are looked up in a ranking that is read once a second. Copying reads the file,
hashes it and writes it to the disk in one thread. Parts that a run leaves out (`--only`) are not in the table.

{table}
"""


def poll(kind: str) -> list[Row]:
    """Polling a job, beside a bare route."""
    found = polling.measure(kind, rounds=15, requests=100)
    times = f"{found.route:.1f} ms, bare {found.bare:.1f} ms"
    used = f"{found.route_processor:.2f} ms, bare {found.bare_processor:.2f} ms"
    return [
        ["rate of `GET /v1/jobs/{id}` ÷ rate of a bare route", kind, f"{found.ratio:.2f} ({times})", "≥ 0.8"],
        ["the same by processor time of the server", kind, f"{found.processor_ratio:.2f} ({used})", "≥ 0.8"],
    ]


def follow(kind: str) -> list[Row]:
    """500 event streams, each of a job of its own."""
    found = streams.measure(kind, 500)
    grown = (found.memory - found.before) / _MIB
    return [
        ["memory of the API with 500 open streams", kind, f"{found.memory / _MIB:.0f} MiB (+{grown:.0f})", "< 300 MB"],
        ["its use of one processor while they are silent", kind, f"{100 * found.idle_processor:.1f} %", ""],
        ["time until an event of each job has reached all", kind, f"{found.delay:.1f} s", ""],
    ]


def upload(kind: str) -> list[Row]:
    """2 GB, which no database sees."""
    found = uploading.measure(kind, 2 * 10**9, rounds=3)
    ratios = [
        [f"2 GB until `201` by {way} ÷ copy and SHA-256 ({found.copy:.1f} s)", kind, f"{ratio:.2f}", "≤ 2"]
        for way, ratio in found.ratio.items()
    ]
    grown = [
        [f"growth of the API's memory meanwhile, {way}", kind, f"{growth / _MIB:.0f} MiB", "< 64 MB"]
        for way, growth in found.growth.items()
    ]
    return [*ratios, *grown]


def start(kind: str) -> list[Row]:
    """From submitting a job to its start."""
    seconds = queueing.measure_start(kind, 20)
    return [["from `POST /v1/jobs` to the start by an idle worker", kind, f"{seconds:.2f} s", "≤ 0.3 s"]]


def pages(kind: str) -> list[Row]:
    """Pages of a long list."""
    found = queueing.measure_pages(kind, 10_000)
    times = ", ".join(f"{1000 * seconds:.0f} ms" for seconds in (found.few, found.first, found.last))
    what = "a page of 50: of 100 jobs; first and last ones of 10,000"
    return [[what, kind, times, "the same for first and last"]]


def turns(kind: str) -> list[Row]:
    """Two owners, one after the other."""
    found = queueing.measure_turns(kind, 1000)
    what = "1,000 jobs of two owners: largest number of one owner's in a row"
    return [[what, kind, f"{found.longest} (a claim takes {1000 * found.claim:.0f} ms)", "1"]]


PARTS: dict[str, Callable[[str], list[Row]]] = {
    "poll": poll,
    "follow": follow,
    "upload": upload,
    "start": start,
    "pages": pages,
    "turns": turns,
}


def main() -> None:
    """Run the parts on both databases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--databases", nargs="*", choices=DATABASES, default=list(DATABASES))
    parser.add_argument("--state", type=Path, help="a file that keeps finished parts")
    parser.add_argument("--write", action="store_true", help="write the section of docs/results/service.md")
    options = parser.parse_args()
    done: dict[str, list[Row]] = {}
    if options.state and options.state.exists():
        done = json.loads(options.state.read_text())
    for name in options.only:
        # what a database does not see is measured once
        for kind in options.databases[:1] if name == "upload" else options.databases:
            if f"{name} {kind}" not in done:
                done[f"{name} {kind}"] = PARTS[name](kind)
                for row in done[f"{name} {kind}"]:
                    print(" | ".join(row), flush=True)
                if options.state:
                    options.state.write_text(json.dumps(done))
    if options.write:
        text = table(_COLUMNS, [row for rows in done.values() for row in rows])
        write_section("load", _INTRODUCTION.format(table=text, processors=len(os.sched_getaffinity(0))))


if __name__ == "__main__":
    main()
