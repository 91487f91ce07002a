"""Progress of long work: a bar on a terminal, lines of text where the output goes to a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from app.console.output import note
from app.console.time_left import TimeLeft
from app.formatting import duration
from cnet.results.baseline import score_text
from cnet.results.points import BaselineResult, Point

_SHORT_PHASES = frozenset({"load", "prune", "quantize", "encode", "evaluate", "publish"})
"""Short phases, which get a line of their own in a file only after a while without any."""

_SECONDS_BETWEEN_LINES = 10.0
"""Time between two lines about progress in a file; the last epoch of a training always gets one."""

_SECONDS_WITHIN_EPOCHS = 20.0
"""Time after the last line at which progress within an epoch, or within a phase without epochs, gets one."""


class ProgressBar:
    """A progress bar on standard error; also an observer of the pipeline (``cnet.pipeline.RunObserver``).

    Args:
        title: shown before the first phase begins.
        quiet: show nothing.
        clock: the time in seconds; replaced in tests.

    """

    def __init__(self, title: str, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._live = not quiet and sys.stderr.isatty()
        self._clock = clock
        self._left = TimeLeft(clock)
        self._began = self._line_at = clock()
        self._phase = title
        self._progress = Progress(
            TextColumn("{task.description:<44}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            disable=not self._live,
        )
        self._task = self._progress.add_task(title, total=1.0, left="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def phase(self, name: str) -> None:
        """Show the name of the phase."""
        self._phase = name
        self._progress.update(self._task, description=name)
        if not self._live and (name not in _SHORT_PHASES or self._is_silent()):
            self._line_at = self._clock()
            self.print_line(f"{name} ...")

    def progress(self, fraction: float) -> None:
        """Move the bar to ``fraction``, 0 to 1."""
        self._left.update(fraction)
        self._progress.update(self._task, completed=fraction, left=self._left.text)
        if not self._live and self._clock() - self._line_at >= _SECONDS_WITHIN_EPOCHS:
            self._print_progress(self._phase)

    def metric(self, values: dict[str, Any]) -> None:
        """Show the epoch and its loss and score: beside the bar, or now and then as a line."""
        if "phase" not in values:
            return
        self._progress.update(self._task, description=f"{values['phase']}{_epoch(values)}{_scores(values)}")
        if not self._live and (values.get("epoch") == values.get("epochs") or self._is_silent()):
            self._print_progress(f"{values['phase']}{_epoch(values)}{_scores(values)}")

    def log(self, message: str) -> None:
        """Print a line above the bar."""
        self.print_line(message)

    def should_stop(self) -> bool:
        """Always False: Ctrl-C raises an exception."""
        return False

    def baseline(self, result: BaselineResult) -> None:
        """Print the size and score of the network before compression."""
        score = score_text(result)
        values = f"{result.parameters:,} parameters and values of buffers"
        self.print_line(f"baseline: {values}, {result.npz_bytes:,} bytes as compressed npz{score}")

    def point(self, point: Point, bundle: Path) -> None:
        """Print the numbers of a finished point."""
        del bundle
        self.show_point(point)

    def show_point(self, point: Point) -> None:
        """Print the numbers of a finished point, and how long the work has taken so far."""
        self.print_line(
            f"point {point.index}: sparsity {point.sparsity:.4f}, clusters {point.clusters or '-'}:"
            f" {point.ratio:.2f} times smaller{score_text(point)}, after {duration(self._clock() - self._began)}"
        )

    def _is_silent(self) -> bool:
        """Whether no line about progress was printed for a while."""
        return self._clock() - self._line_at >= _SECONDS_BETWEEN_LINES

    def _print_progress(self, text: str) -> None:
        self._line_at = self._clock()
        self.print_line(", ".join(filter(None, [text, f"{self._left.fraction:.0%} done", self._left.text])))

    def print_line(self, text: str) -> None:
        """Print a line above the bar."""
        if self._quiet:
            return
        if self._live:
            self._progress.console.print(text, markup=False, highlight=False)
        else:
            note(text)


def _epoch(values: dict[str, Any]) -> str:
    return f" epoch {values['epoch']}/{values['epochs']}" if {"epoch", "epochs"} <= set(values) else ""


def _scores(values: dict[str, Any]) -> str:
    """The loss and the score of an epoch, whatever the task calls it."""
    known = {"phase", "epoch", "epochs", "lambda", "compressibility"}
    return "".join(f" {name} {value:.4g}" for name, value in values.items() if name not in known and _is_number(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
