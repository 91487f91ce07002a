"""Progress of long work: a bar on a terminal, one line for each phase where the output goes to a file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from app.console.output import note
from cnet.results.baseline import score_text
from cnet.results.points import BaselineResult, Point

_SHORT_PHASES = frozenset({"load", "prune", "quantize", "encode", "evaluate", "publish"})
"""Short phases, which get no line of their own in a file."""


class ProgressBar:
    """A progress bar on standard error; also an observer of the pipeline (``cnet.pipeline.RunObserver``).

    Args:
        title: shown before the first phase begins.
        quiet: show nothing.

    """

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = not quiet and sys.stderr.isatty()
        self._progress = Progress(
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not self._live,
        )
        self._task = self._progress.add_task(title, total=1.0)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def phase(self, name: str) -> None:
        """Show the name of the phase."""
        self._progress.update(self._task, description=name)
        if not self._live and name not in _SHORT_PHASES:
            self.print_line(f"{name} ...")

    def progress(self, fraction: float) -> None:
        """Move the bar to ``fraction``, 0 to 1."""
        self._progress.update(self._task, completed=fraction)

    def metric(self, values: dict[str, Any]) -> None:
        """Show the loss and accuracy of an epoch beside the phase."""
        shown = " ".join(f"{name} {values[name]:.4g}" for name in ("loss", "accuracy") if _is_number(values.get(name)))
        if shown and "phase" in values:
            self._progress.update(self._task, description=f"{values['phase']} {shown}")

    def log(self, message: str) -> None:
        """Print a line above the bar."""
        self.print_line(message)

    def should_stop(self) -> bool:
        """Always False: Ctrl-C raises an exception."""
        return False

    def baseline(self, result: BaselineResult) -> None:
        """Print the size and score of the network before compression."""
        score = score_text(result)
        self.print_line(f"baseline: {result.parameters:,} parameters, {result.npz_bytes:,} bytes as npz{score}")

    def point(self, point: Point, bundle: Path) -> None:
        """Print the numbers of a finished point."""
        del bundle
        self.print_line(
            f"point {point.index}: sparsity {point.sparsity:.4f}, clusters {point.clusters or '-'}:"
            f" {point.ratio:.2f} times smaller{score_text(point)}"
        )

    def print_line(self, text: str) -> None:
        """Print a line above the bar."""
        if self._quiet:
            return
        if self._live:
            self._progress.console.print(text, markup=False, highlight=False)
        else:
            note(text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
