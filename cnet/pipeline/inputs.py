"""What goes into a run, what comes out, and who is told meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cnet.data import Dataset
from cnet.observer import Observer, Silent
from cnet.points import BaselineResult, Point
from cnet.weights import Weights


class RunObserver(Observer, Protocol):
    """An observer that also gets the results, as soon as each exists.

    A run that is resumed tells again of what earlier attempts made: the same baseline, and the same points with the
    same index and the same bytes. Whoever stores them replaces by index.
    """

    def baseline(self, result: BaselineResult) -> None:
        """The net before compression was measured."""

    def point(self, point: Point, bundle: Path) -> None:
        """A point is final; its bundle is the file ``bundle``, which stays until the run's folder is removed."""


class SilentRun(Silent):
    """A run observer that hears nothing and never stops anything."""

    def baseline(self, result: BaselineResult) -> None:
        """Ignore."""

    def point(self, point: Point, bundle: Path) -> None:
        """Ignore."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a run works on.

    Attributes:
        weights: the checkpoint's; None where a baseline is trained from scratch. The spec's ``compressible`` patterns
            are applied by the run.
        dataset: None where nothing is trained or evaluated.
        folder: a folder that the run has to itself, made if need be. A second run with the same inputs in the same
            folder goes on where the first one ended.
        streaming: whether weights are read pass by pass instead of all at once, which needs a job without a data set
            (``cnet.pipeline.streamed``); None: where the net is large and the job allows it.
    """

    weights: Weights | None
    dataset: Dataset | None
    folder: Path
    streaming: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run gave: the baseline, all points, the index of the selected one, and the points' bundles in order."""

    baseline: BaselineResult
    points: tuple[Point, ...]
    selected: int
    bundles: tuple[Path, ...]
