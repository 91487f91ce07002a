"""The page of a study: claims, tables and plot, from its results file."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import svg
from benchmarks.paper.claims import all_claims
from benchmarks.paper.results import Results
from benchmarks.paper.rows import Base, Row, base, rows
from benchmarks.paper.study import Settings
from benchmarks.paper.tables import Lines, all_tables, curves

_BELOW = 4.0  # lowest accuracy of the plot, in points below the baseline

_INTRODUCTION = """
Made by `{command}`: {jobs} jobs of the pipeline that the service runs, {seeds}, {minutes} minutes of one-thread
processes, on {machines}. Every accuracy is measured on the network decoded from its file.

Baseline: {accuracy}, npz of {npz} bytes, {s.baseline} epochs. *Lost* is the accuracy that a point loses against the
baseline trained on the same machine, from which all trainings on that machine start. All trainings use Adam with
batches of 128; the learning rate falls from {s.rate:g} along a cosine, and is constant where something grows until the
end (the ramps, gradual pruning).

Tables 1 to 7 follow the paper: {s.epochs} epochs of fine-tuning with the method, then one threshold, k-means, npz;
nothing is trained after pruning, and batch norm is not measured again. *Ratio* is the paper's there: the npz of the
weights divided by mask, labels and centroids together.

In tables 8 to 10 every method has the same budget: {total} epochs after the baseline, {s.epochs} of them with the
method and {s.recovery} of recovery with a fixed mask, and one epoch for the centroids. Deep Compression and UDNN,
which have no penalty, spend all of them on the recovery; our recipes prune during them. Each network is encoded by
`compact` in three ways: after k-means with trained centroids; after `ecsq` without further training; and after `ecsq`
with trained centroids and errors weighted by curvature (*trained*, with biases and batch norm in 16 bits, as nncodec
quantizes them). The network of one recipe of ours, the default, may also be encoded by steps that 1,024 training images
calibrate (*calibrated*). The best counts. The strength of each method is the one of its own paper where the paper
names one, without tuning (`benchmarks/paper/recipes.py`); the strengths of L1 and group lasso are defaults of this
project, and ours were chosen on another data set, `digits`.

**How far to trust tables 8 to 10.** For each method and sparsity, up to nine files (twelve of the default) compete by
their accuracy on the test images, and ours are several recipes. Only ours prune gradually, so a part of their lead is
due to the schedule and not to the penalty. Targeted Dropout spares the first and the last layer in training, but our
pruning does not, so its rows are too low. With one seed, differences below 0.3 points are noise. A dash stands for a
result that was not measured, or for a method without a file that qualifies.
"""


@dataclass(frozen=True)
class Heading:
    """What the heading of the page says of the study.

    Attributes:
        dataset, architecture: by name.
        settings: of the study.
        command: arguments of the command line.
    """

    dataset: str
    architecture: str
    settings: Settings
    command: str

    @classmethod
    def of(cls, options: argparse.Namespace, settings: Settings) -> Heading:
        """The heading for the options of a command line that decide what is measured."""
        command = f"--dataset {options.dataset} --architecture {options.architecture} --epochs {options.epochs}"
        command += f" --seeds {options.seeds}" if options.seeds > 1 else ""
        if options.sparsities:
            command += f" --sparsities {' '.join(f'{value:g}' for value in options.sparsities)}"
        return cls(options.dataset, options.architecture, settings, command)


def write(path: Path, results: Results, heading: Heading) -> None:
    """Write the page, and the plot beside it."""
    known = base(results)
    if known is None:
        raise SystemExit("there are no results yet. Run the study without --workers 0 first.")
    found = rows(results)
    plot = path.with_suffix(".svg")
    lines = curves(found, _BELOW) or curves(found, 100.0)
    if lines:
        limits = [size for line in lines.values() for size, _ in line]
        lines = {**lines, "half a point": [(min(limits), -0.5), (max(limits), -0.5)]}
        plot.write_text(svg.plot(lines, "bytes of the bundle", "points of accuracy, baseline 0", linear_y=True))
    paper = (heading.dataset, heading.architecture) == ("cifar-10", "resnet32")
    parts = [_introduction(results, heading, known), _claims(found)]
    for table in all_tables(found, paper=paper):
        parts += [f"## {table.title}", *([table.note] if table.note else []), markdown(table.lines)]
    parts.append(f"## All methods\n\n![accuracy against bytes]({plot.name})" if lines else "")
    path.write_text("\n\n".join(part for part in parts if part) + "\n")


def _claims(found: Sequence[Row]) -> str:
    lines = [["claim", "holds here", "figures"]]
    lines += [[claim.text, claim.verdict, claim.figures] for claim in all_claims(found)]
    return "## Claims\n\n" + markdown(lines)


def _introduction(results: Results, heading: Heading, known: Base) -> str:
    settings, done = heading.settings, results.done.values()
    text = _INTRODUCTION.format(
        command=f"python -m benchmarks.paper {heading.command} --page ...",
        jobs=len(done),
        seeds="one seed" if settings.seeds == 1 else f"means over {settings.seeds} seeds",
        minutes=f"{sum(record['seconds'] for record in done) / 60:.0f}",
        machines="; ".join(sorted({record["machine"] for record in done})),
        accuracy=", ".join(f"{accuracy:.2f} % ({name})" for name, accuracy in known.machines.items()),
        npz=f"{known.npz:,.0f}",
        s=settings,
        total=settings.epochs + settings.recovery,
    )
    parts = [textwrap.fill(part, 120, break_on_hyphens=False) for part in text.strip().split("\n\n")]
    if results.failed:
        parts.append(f"Failed: {', '.join(sorted(results.failed))}.")
    return "\n\n".join([f"# The paper's tables: {heading.architecture} on {heading.dataset}", *parts])


def markdown(lines: Lines) -> str:
    """A table in Markdown."""
    head, *body = lines
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body))
