"""How much of a run is done: expected costs of its steps, and the meter that adds them up.

Costs are in units of one forward pass of one image. Images, sorting, clustering and packing all cost time in
proportion to the net's parameters, so that the net's size cancels; the factors are round numbers, good enough for a
progress bar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cnet.data import Dataset
from cnet.observer import Observer
from cnet.pipeline.plan import TrainingPlan
from cnet.search import CandidateGrid
from cnet.spec import JobSpec

_TRAIN_IMAGE = 3.0
_PRUNE, _QUANTIZE, _ENCODE = 10.0, 30.0, 50.0


@dataclass(frozen=True)
class StepCosts:
    """Expected cost of each step of a run; a step that the run does not have costs nothing.

    A search counts with as many sparsities and points as it makes at most; it mostly ends before.
    """

    baseline: float
    finetune: float
    recover: float
    centroids: float
    evaluate: float
    sparsities: int
    points: int
    gradual: float = 0.0
    prune: float = _PRUNE
    quantize: float = _QUANTIZE
    encode: float = _ENCODE

    @classmethod
    def of(cls, spec: JobSpec, dataset: Dataset | None) -> StepCosts:
        """The costs of the run of ``spec``."""
        grid, training = CandidateGrid.of(spec), TrainingPlan.of(spec)
        sparsities, points = grid.max_sparsities, grid.max_points
        if training is None or dataset is None:
            return cls(0.0, 0.0, 0.0, 0.0, 0.0, sparsities, points)
        epoch = _TRAIN_IMAGE * len(dataset.y_train)
        return cls(
            baseline=0.0 if spec.checkpoint else epoch * training.baseline.epochs,
            finetune=epoch * training.finetune.epochs,
            recover=epoch * training.recover.epochs,
            centroids=epoch * training.centroids.epochs,
            evaluate=float(len(dataset.y_test)),
            sparsities=sparsities,
            points=points,
            gradual=epoch * training.gradual.epochs,
        )

    @property
    def per_point(self) -> float:
        """Cost of one point, once its sparsity's weights exist."""
        return self.quantize + self.centroids + self.encode + self.evaluate

    @property
    def per_sparsity(self) -> float:
        """Cost of one sparsity's weights."""
        return self.gradual + self.prune + self.recover + self.evaluate

    @property
    def before_points(self) -> float:
        """Cost of all that comes before the first sparsity."""
        return self.baseline + self.evaluate + self.finetune

    def until(self, sparsities: int, points: int) -> float:
        """Cost of a run up to and with so many sparsities and points."""
        return self.before_points + sparsities * self.per_sparsity + points * self.per_point

    @property
    def total(self) -> float:
        """Cost of the whole run."""
        return self.until(self.sparsities, self.points)


class ProgressMeter:
    """Tells the observer a fraction that never falls."""

    def __init__(self, observer: Observer, total: float) -> None:
        self._observer = observer
        self._total = total
        self._position = 0.0
        self._told = 0.0

    def seek(self, position: float) -> None:
        """Everything before ``position`` (a cost) is done."""
        self._position = position
        self._tell(position)

    def advance(self, cost: float) -> None:
        """A step of this cost is done."""
        self.seek(self._position + cost)

    def within(self, cost: float) -> Callable[[float], None]:
        """A function that takes the done fraction, 0..1, of the step under way, whose cost is ``cost``."""
        start = self._position

        def tell(fraction: float) -> None:
            self._tell(start + cost * fraction)

        return tell

    def finish(self) -> None:
        """All is done."""
        self._tell(self._total)

    def _tell(self, position: float) -> None:
        fraction = min(position / self._total, 1.0) if self._total else 1.0
        if fraction > self._told:
            self._told = fraction
            self._observer.progress(fraction)
