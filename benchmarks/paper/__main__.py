"""The command line."""

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
from benchmarks.paper.work import Place
from cnet.models import ARCHITECTURES

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "paper"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=study.__doc__)
    parser.add_argument("--dataset", default="fashion-mnist", choices=data.NAMES)
    parser.add_argument("--architecture", default="lenet5", choices=ARCHITECTURES.names())
    parser.add_argument("--epochs", type=int, default=10, help="of each fine-tuning")
    parser.add_argument("--seeds", type=int, default=1, help="how often everything is made; tables show means")
    parser.add_argument("--sparsities", type=float, nargs="+", help="of the rivals, the most telling first")
    parser.add_argument("--data", type=Path, help="folder (or archive) of the data set's files")
    parser.add_argument("--results", type=Path, help="the results file; one there is gone on with")
    parser.add_argument("--work", type=Path, help="folder for nets that jobs start from")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; 0 runs nothing")
    parser.add_argument(
        "--device", nargs="+", default=["cpu"], choices=("auto", "cpu", "cuda"), help="of the processes, in turns"
    )
    parser.add_argument("--only", nargs="+", help="run only jobs in whose name one of these occurs, and their starts")
    parser.add_argument("--page", type=Path, help="write the tables to this Markdown file, the plot beside it")
    parser.add_argument("--nncodec", type=Path, help="measure nncodec too; folder of its environment, made if need be")
    options = parser.parse_args(arguments)
    name = f"{options.dataset}-{options.architecture}"
    options.results = options.results or RESULTS / f"{name}.jsonl"
    options.work = options.work or options.results.with_suffix(".work")
    return options


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    raise SystemExit(128 + number)


def main(arguments: list[str]) -> None:
    """Run what is to be run, and write the page."""
    options = parse(arguments)
    signal.signal(signal.SIGTERM, _stop)  # so that no process outlives this one
    place = Place(options.dataset, options.data, options.architecture, options.work, options.device[0])
    cuts = tuple(options.sparsities) if options.sparsities else study.Settings.cuts
    settings = study.Settings(options.epochs, options.seeds, cuts, place.source.augment)
    jobs = study.jobs(settings)
    peers = nncodec.jobs(jobs)
    known = digests([*jobs, *peers], {"dataset": options.dataset, "architecture": options.architecture})
    results = Results(options.results, known)
    if options.workers:
        places = [replace(place, device=device) for device in islice(cycle(options.device), options.workers)]
        run(study.chosen(jobs, options.only), places, results)
    if options.nncodec:
        nncodec.measure(peers, place, results, options.nncodec.resolve())
    if options.page:
        page.write(options.page, results, page.Heading.of(options, settings))


if __name__ == "__main__":
    main(sys.argv[1:])
