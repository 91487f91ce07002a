"""The command line of the study."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from types import FrameType

from benchmarks.paper import data, nncodec, page, study
from benchmarks.paper.jobs import digests
from benchmarks.paper.results import Results
from benchmarks.paper.run import run
from benchmarks.paper.work import StudySetup
from cnet.models import ARCHITECTURES

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "paper"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=study.__doc__)
    parser.add_argument("--dataset", default="fashion-mnist", choices=data.NAMES)
    parser.add_argument("--architecture", default="lenet5", choices=ARCHITECTURES.names())
    parser.add_argument("--epochs", type=int, default=10, help="epochs of each fine-tuning")
    parser.add_argument(
        "--seeds", type=int, default=1, help="number of repetitions with other seeds; tables show means"
    )
    parser.add_argument(
        "--sparsities", type=float, nargs="+", help="sparsities of rivals and ours, the most informative first"
    )
    parser.add_argument("--data", type=Path, help="folder (or archive) of the data set's files")
    parser.add_argument("--results", type=Path, help="results file; an existing one is continued")
    parser.add_argument("--work", type=Path, help="folder for the networks that jobs start from")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes; 0 runs no job")
    parser.add_argument(
        "--device",
        nargs="+",
        default=["cpu"],
        choices=("auto", "cpu", "cuda"),
        help="devices, which the processes take in turn",
    )
    parser.add_argument(
        "--only", nargs="+", help="run only jobs whose name contains one of these, and the jobs they start from"
    )
    parser.add_argument("--page", type=Path, help="write the tables to this Markdown file, the plot beside it")
    parser.add_argument(
        "--nncodec",
        type=Path,
        help="measure nncodec too; folder of its virtual environment, which is created where it is missing",
    )
    options = parser.parse_args(arguments)
    name = f"{options.dataset}-{options.architecture}"
    options.results = options.results or RESULTS / f"{name}.jsonl"
    options.work = options.work or options.results.with_suffix(".work")
    return options


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    raise SystemExit(128 + number)


def main(arguments: list[str]) -> None:
    """Run the jobs that have no result, and write the page."""
    options = parse(arguments)
    signal.signal(signal.SIGTERM, _stop)  # an exception, so that all processes are ended
    setup = StudySetup(options.dataset, options.data, options.architecture, options.work, options.device[0])
    cuts = tuple(options.sparsities) if options.sparsities else study.Settings.cuts
    settings = study.Settings(options.epochs, options.seeds, cuts, setup.source.augment)
    jobs = study.jobs(settings)
    peers = nncodec.jobs(jobs)
    known = digests([*jobs, *peers], {"dataset": options.dataset, "architecture": options.architecture})
    results = Results(options.results, known)
    if options.workers:
        setups = [replace(setup, device=device) for device in islice(cycle(options.device), options.workers)]
        run(study.chosen(jobs, options.only), setups, results)
    if options.nncodec:
        nncodec.measure(peers, setup, results, options.nncodec.resolve())
    if options.page:
        page.write(options.page, results, page.Heading.of(options, settings))


if __name__ == "__main__":
    main(sys.argv[1:])
