"""The service under constant failure: ``python -m benchmarks.chaos [--jobs N] [--seed N] [--write]``.

Two API processes share a machine; three workers have a machine each, with a folder of its own and, where the kernel
allows it, a mount namespace in which the other folders are empty. PostgreSQL, Valkey and an S3 server (nanio, from
PyPI) are real processes. Every few seconds one of API, worker, runner, Valkey, PostgreSQL and S3 dies and comes back,
in rounds of an order that the seed decides. Clients upload checkpoints by tus over connections that they break off,
submit jobs (most compress weights, one in twenty trains a network, one in 23 is cancelled), wait, download every bundle
and verify it. Every request goes to one of the API processes by chance, and is repeated until it is answered.

At the end, every accepted job is there once and has ended once, jobs with the same content have the same bytes, no
offset of an upload has become smaller, every checkpoint has the tensors that were sent, and no process, lease, blob,
state, message, partial upload or scratch file is left.
"""

from __future__ import annotations

import argparse
import math
import os
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.chaos.run import Options, Result, run
from benchmarks.service_page import table, write_section


def main() -> None:
    """Run once, print what happened, and write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1200, help="the run has failed when it takes longer")
    parser.add_argument("--submit-seconds", type=float, default=math.inf, help="then no more jobs are submitted")
    parser.add_argument("--logs", type=Path, help="folder to which the logs of all processes are copied")
    parser.add_argument("--write", action="store_true", help="write a section of docs/results/service.md")
    given = vars(parser.parse_args())
    write = given.pop("write")
    options = Options(**given)
    text = section(options, run(options))
    print(text)
    if write:
        write_section("chaos", text)


def section(options: Options, result: Result) -> str:
    """The section of the page."""
    limit = "" if math.isinf(options.submit_seconds) else f" --submit-seconds {options.submit_seconds:.0f}"
    command = f"python -m benchmarks.chaos --jobs {options.jobs} --seed {options.seed}{limit} --write"
    deaths = [[name, str(count)] for name, count in sorted(result.deaths.items())]
    answers = [[name, str(count)] for name, count in sorted(result.record.answers.items())]
    parts = [
        "## Chaos",
        f"`{command}`",
        *(__doc__ or "").split("\n\n")[1:],
        textwrap.fill(" ".join(_sentences(options, result)), 120),
        table(["what died", "times"], [*deaths, ["all", str(result.deaths.total())]]),
        table(["what the clients saw", "times"], answers),
    ]
    return "\n\n".join(part.strip() for part in parts)


def _sentences(options: Options, result: Result) -> Iterator[str]:
    record, uploads = result.record, result.record.uploads
    ended = ", ".join(f"{count} {status}" for status, count in sorted(Counter(record.ended.values()).items()))
    if len(record.ended) < options.jobs:
        yield f"After {options.submit_seconds:.0f} s the clients submitted no more of the {options.jobs} jobs."
    yield f"{len(record.ended)} jobs ended within {result.seconds:.0f} s, each once, in {result.attempts} attempts:"
    yield f"{ended}."
    yield f"{record.bundles} bundles were downloaded and verified; jobs with the same content, of which there were"
    yield f"{len(record.digests)}, gave the same bytes. {len(record.checkpoints)} checkpoints,"
    yield f"{uploads.acknowledged:,} bytes,"
    yield f"were uploaded, over {uploads.cuts} connections that the clients broke off. The sweep found {result.swept}"
    yield "blobs without a row, left by killed processes, and removed them. The workers had"
    yield f"{'mount namespaces' if result.isolated else 'no namespaces, but folders'} of their own. The machine had"
    yield f"{os.cpu_count()} cores and a load average of {os.getloadavg()[2]:.0f} over the last 15 minutes."


if __name__ == "__main__":
    main()
