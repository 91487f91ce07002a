"""The inputs of a run, its outcome, and the observer of its results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cnet.data import Dataset
from cnet.models.programs import StoredProgram
from cnet.observer import Observer, SilentObserver
from cnet.results.points import BaselineResult, Point
from cnet.weights import Weights


class RunObserver(Observer, Protocol):
    """An observer that also gets each result as soon as it exists.

    A run that is resumed reports the results of earlier attempts again: the same baseline, and the same points with the
    same indexes and the same bytes. An observer that stores points must replace by index.
    """

    def baseline(self, result: BaselineResult) -> None:
        """The network before compression is measured."""

    def point(self, point: Point, bundle: Path) -> None:
        """A point is final. Its bundle is the file ``bundle``, which stays until the run's folder is removed."""


class SilentRunObserver(SilentObserver):
    """A run observer that ignores everything and never asks to stop."""

    def baseline(self, result: BaselineResult) -> None:
        """Ignore."""

    def point(self, point: Point, bundle: Path) -> None:
        """Ignore."""


class SharedTrainings(Protocol):
    """The weights with which trainings end that several runs have in common, by a key of everything that decides them.

    One of the runs trains, and the others take over the file that a resumed run would read. Their bundles are therefore
    the same as without sharing.
    """

    def take(self, key: str, target: Path) -> bool:
        """Write the weights of a training to the file ``target``. Waits while another run trains them.

        Returns:
            False where this run has to train them, and to ``give`` them afterwards.

        Raises:
            StoppedError: this run was asked to stop while it waited.
        """

    def give(self, key: str, source: Path) -> None:
        """Share the weights in the file ``source``. Nothing happens where they are shared already."""


@dataclass(frozen=True)
class StreamingSizes:
    """When and how weights are read chunk by chunk; the result does not depend on it.

    Attributes:
        least_bytes: a network of so many bytes or more is streamed, where the user leaves that open and the job can.
        chunk: how many weights are read at once.
        resident: how many weights are read before the memory of the mapped file is released.
    """

    least_bytes: int = 2**25
    chunk: int = 2**21
    resident: int = 2**24


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a run works on.

    Attributes:
        weights: those of the checkpoint; None where a baseline is trained from scratch. The run applies the patterns
            of the spec's ``compressible`` to them. With a program, those that fill it (``cnet.models.programs``).
        dataset: None where nothing is trained or evaluated.
        folder: a folder for this run alone, made where it does not exist. A second run with the same inputs in the
            same folder continues where the first one ended.
        streaming: whether weights are read chunk by chunk instead of all at once, which needs a job without a data
            set; None: where the network is large and the job allows it.
        streaming_sizes: what counts as large, and how much is read at once.
        program: the network of a job that names a program as its architecture; None otherwise.
        calibration: the data set that ``calibrate.inputs`` names, or the job's own where it names none; None where the
            job does not calibrate.
        shared: trainings that this run has in common with others; None: it trains everything itself.
    """

    weights: Weights | None
    dataset: Dataset | None
    folder: Path
    streaming: bool | None = None
    streaming_sizes: StreamingSizes = StreamingSizes()
    program: StoredProgram | None = None
    calibration: Dataset | None = None
    shared: SharedTrainings | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run gives.

    Attributes:
        baseline: the network before compression.
        points: all points in the order in which they were made.
        selected: index of the point that meets the target best.
        bundles: the file of each point, in the run's folder.
    """

    baseline: BaselineResult
    points: tuple[Point, ...]
    selected: int
    bundles: tuple[Path, ...]
