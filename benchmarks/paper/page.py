"""The page: claims, tables and plot of a results file."""

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

_BELOW = 4.0  # points under the baseline that the plot goes down to

_INTRODUCTION = """
Made by `{command}`: {jobs} jobs of the same pipeline as the service's, {seeds}, {minutes} minutes of one-thread
processes, on {machines}. Every accuracy is that of a net decoded from its file.

Baseline: {accuracy}, npz of {npz} bytes, {s.baseline} epochs. What a point has *lost* is against the baseline of its
own machine, from which all its trainings go on. All trainings use Adam from {s.rate:g} in batches of 128, along a
cosine; constant where something grows until the end (the ramps, gradual pruning).

Tables 1 to 7 are made the paper's way: {s.epochs} epochs of fine-tuning with the method, then one threshold, k-means,
npz; nothing is trained after pruning, and batch norm stays as it is. *Ratio* there is the paper's, npz of the weights /
(mask + labels + centroids).

In tables 8 to 10 every method has the same budget, {total} epochs since the baseline and one for the centroids:
{s.epochs} with the method and {s.recovery} of recovery with the mask pinned; Deep Compression and UDNN, which have no
penalty, spend all of them in the recovery; ours prune in the course of them. Each net is coded by `compact` after
k-means with fine-tuned centroids, after `ecsq` as it is, and after `ecsq` with fine-tuned centroids and errors counted
by curvature (*trained*, with biases and batch norm in 16 bits; nncodec quantizes these too); the best counts. Strengths
are those of each method's own paper where that names one, one for each method, not tuned
(`benchmarks/paper/recipes.py`); those of L1 and group lasso are this project's defaults, and ours were chosen on
another data set, `digits`.

**How far to trust tables 8 to 10.** Files are chosen by the accuracy on the test images, of up to nine for each method
and sparsity; ours are several recipes. Only ours prune gradually, so a part of their lead is the schedule and not the
penalty. Targeted Dropout spares the first and last layer in training, our pruning does not: its rows are too low.
With one seed, differences below 0.3 point are noise. A dash stands for what was not run, or for no file that qualifies.
"""


@dataclass(frozen=True)
class Heading:
    """What was run.

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
        """From the command line; of its options those that decide what is measured."""
        command = f"--dataset {options.dataset} --architecture {options.architecture} --epochs {options.epochs}"
        command += f" --seeds {options.seeds}" if options.seeds > 1 else ""
        if options.sparsities:
            command += f" --sparsities {' '.join(f'{value:g}' for value in options.sparsities)}"
        return cls(options.dataset, options.architecture, settings, command)


def write(path: Path, results: Results, heading: Heading) -> None:
    """The page, and the plot beside it."""
    known = base(results)
    if known is None:
        raise SystemExit("there are no results yet: the baseline has not been made")
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
