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
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.chaos.run import Options, Result, run


def main() -> None:
    """Run once and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1200, help="the run has failed when it takes longer")
    parser.add_argument("--logs", type=Path, help="folder to which the logs of all processes are copied")
    options = Options(**vars(parser.parse_args()))
    print("\n".join(report(options, run(options))))
    sys.exit(0)


def report(options: Options, result: Result) -> Iterator[str]:
    """The lines of the page: what was done, and what was killed."""
    record = result.record
    ended = ", ".join(f"{count} {status}" for status, count in sorted(Counter(record.ended.values()).items()))
    yield f"{options.jobs} jobs on {options.workers} workers in {result.seconds:.0f} s: {ended}, each once, in"
    yield f"{result.attempts} attempts. {record.bundles} bundles were downloaded and verified; jobs with the same"
    yield f"content ({len(record.digests)} different ones) gave the same bytes. {len(record.checkpoints)} checkpoints"
    yield f"were uploaded, with {record.uploads.acknowledged:,} bytes and {record.uploads.cuts} connections that the"
    yield f"clients broke off; every acknowledged byte is there. {result.swept} blobs without a row were swept. Workers"
    yield f"had {'mount namespaces' if result.isolated else 'folders'} of their own."
    yield ""
    yield "| what died | times |"
    yield "|---|---:|"
    yield from (f"| {name} | {count} |" for name, count in sorted(result.deaths.items()))
    yield f"| all | {result.deaths.total()} |"
    yield ""
    yield "| what the clients saw | times |"
    yield "|---|---:|"
    yield from (f"| {name} | {count} |" for name, count in sorted(record.answers.items()))


if __name__ == "__main__":
    main()
