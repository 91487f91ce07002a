"""The search for a target, compared with all points of the grid: the bytes it finds, and its number of evaluations.

    python -m benchmarks.target [--architecture lenet300_100] [--drop 0.5] [--quantize kmeans] [--csv FILE]
                                [--epochs N] [--recover-epochs N] [--seeds 0] [--no-grid]

Both make points by the same pipeline, from the same training: the search makes those that it chooses, the grid combines
every sparsity with every setting of every quantizer that the search may choose. Without other options the job has only
``architecture``, ``dataset`` and ``target``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cnet.data import DATASETS, Dataset
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.pipeline.procedure import load
from cnet.results.points import BaselineResult, Point
from cnet.search import CandidateGrid, select_point
from cnet.spec import JobSpec

_SIDE = 28


@dataclass(frozen=True)
class Row:
    """The result of one way to meet the target: the search, or the grid."""

    seed: int
    way: str
    points: tuple[Point, ...]
    best: Point
    seconds: float

    def cells(self, baseline: float) -> str:
        """The row of the table."""
        best = self.best
        setting = f"k {best.clusters_requested}" if best.step is None else f"step {best.step:.3f}"
        sparsities = len({point.sparsity_requested for point in self.points})
        lost = baseline - (best.accuracy or 0.0)
        return (
            f"| {self.seed} | {self.way} | {len(self.points)} | {sparsities} | {best.bytes.total:,} | {lost:.2f} | "
            f"{best.sparsity_requested:g}, {best.quantizer} {setting} | {self.seconds:.0f} |"
        )


def read_csv(path: Path) -> Dataset:
    """Images from a CSV file with the label in the last column, a fifth of them for testing."""
    rows = np.loadtxt(path, delimiter=",", dtype=np.int64)
    images, labels = rows[:, :-1].astype(np.uint8).reshape(-1, 1, _SIDE, _SIDE), rows[:, -1]
    order = np.random.default_rng(0).permutation(len(rows))
    test, train = order[: len(rows) // 5], order[len(rows) // 5 :]
    return Dataset.of_arrays(images[train], labels[train], images[test], labels[test])


def spec(options: argparse.Namespace, seed: int) -> JobSpec:
    """The job specification for the options."""
    document: dict[str, Any] = {
        "architecture": {"name": options.architecture},
        "dataset": "digits",
        "validation": 0,  # the committed results are of trainings on all training data
        "target": {"max_accuracy_drop": options.drop},
    }
    training = {"epochs": options.epochs} if options.epochs else {}
    if training or seed:
        document["training"] = {**training, "seed": seed}
    if options.recover_epochs is not None:
        document["recover"] = {"epochs": options.recover_epochs}
    if options.quantize:
        document["quantize"] = {"name": options.quantize}
    return JobSpec.parse(document)


def look(job: JobSpec, data: Dataset, seed: int, way: str) -> tuple[Row, float]:
    """Make the points of one ``way``, "search" or "grid"; returns its row and the baseline's accuracy in percent."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(None, data, Path(folder))
        baseline, points, selected = _searched(job, inputs) if way == "search" else _whole_grid(job, inputs)
    seconds = time.perf_counter() - start
    return Row(seed, way, points, points[selected], seconds), baseline.accuracy or 0.0


def _searched(job: JobSpec, inputs: Inputs) -> tuple[BaselineResult, tuple[Point, ...], int]:
    """Baseline, points and index of the selected point of a run that searches."""
    outcome = run(job, inputs, SilentRunObserver())
    return outcome.baseline, outcome.points, outcome.selected


def _whole_grid(job: JobSpec, inputs: Inputs) -> tuple[BaselineResult, tuple[Point, ...], int]:
    """The same for a run that makes every candidate of the grid."""
    steps = load(job, inputs, SilentRunObserver())
    candidates = CandidateGrid.of(job).candidates
    points = tuple(steps.point(candidate, index) for index, candidate in enumerate(candidates))
    return steps.networks.baseline, points, select_point(job.target, steps.networks.baseline, points)


def main(arguments: list[str]) -> None:
    """Run both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="lenet300_100")
    parser.add_argument("--csv", type=Path, default=None, help="images of 28x28, label last; default: digits")
    parser.add_argument("--drop", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=None)
    parser.add_argument("--recover-epochs", type=int, default=None)
    parser.add_argument("--quantize", default=None)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--no-grid", action="store_true", help="make only what the search chooses")
    options = parser.parse_args(arguments)
    data = DATASETS.create("digits").load() if options.csv is None else read_csv(options.csv)
    candidates = len(CandidateGrid.of(spec(options, 0)).candidates)
    print(f"{options.architecture}, {len(data.train)} images, drop {options.drop}, {candidates} candidates\n")
    print("| seed | way | evaluations | sparsities trained | bytes | points lost | selected | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in options.seeds:
        found, accuracy = look(spec(options, seed), data, seed, "search")
        print(found.cells(accuracy), flush=True)
        if options.no_grid:
            continue
        every, accuracy = look(spec(options, seed), data, seed, "grid")
        print(every.cells(accuracy), flush=True)
        share = len(found.points) / len(every.points)
        print(
            f"| {seed} | search ÷ grid | {share:.3f} | | {found.best.bytes.total / every.best.bytes.total:.3f} | | | |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
