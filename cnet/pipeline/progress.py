"""The progress of a run: the expected cost of each step, and the meter that adds up the costs of what is done.

The unit of cost is one forward pass of one image. Training, sorting, clustering and encoding all take time in
proportion to the number of parameters, which therefore cancels. The factors are rough, good enough for a progress bar.
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
# Of each calibration input: four gradients once for a sparsity; two ways of labels for each point.
_FISHER, _LOCKSTEP = 9.0, 24.0


@dataclass(frozen=True)
class StepCosts:
    """The expected cost of each step of a run, 0 for a step that the run does not have.

    ``sparsities`` and ``points`` are numbers: of a search, the most that it makes, which are usually more than it does.
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
    calibrate: float = 0.0

    @classmethod
    def of(cls, spec: JobSpec, dataset: Dataset | None) -> StepCosts:
        """The costs of a run of ``spec``."""
        if dataset is None:
            return cls.of_samples(spec, 0, 0)
        return cls.of_samples(spec, len(dataset.train), len(dataset.test) + len(dataset.validation or ()))

    @classmethod
    def of_samples(cls, spec: JobSpec, train: int, evaluated: int) -> StepCosts:
        """The costs of a run of ``spec`` on a data set with so many samples for training and for evaluation."""
        grid, training = CandidateGrid.of(spec), TrainingPlan.of(spec)
        sparsities, points = grid.max_sparsities, grid.max_points
        samples = 0 if spec.calibrate is None else spec.calibrate.samples
        calibration = {"quantize": _QUANTIZE + _LOCKSTEP * samples, "calibrate": _FISHER * samples}
        if training is None:
            return cls(0.0, 0.0, 0.0, 0.0, 0.0, sparsities, points, **calibration)
        epoch = _TRAIN_IMAGE * train
        return cls(
            baseline=0.0 if spec.checkpoint or spec.program else epoch * training.baseline.epochs,
            finetune=epoch * training.finetune.epochs,
            recover=epoch * training.recover.epochs,
            centroids=epoch * training.centroids.epochs,
            evaluate=float(evaluated),
            sparsities=sparsities,
            points=points,
            gradual=epoch * training.gradual.epochs,
            **calibration,
        )

    @property
    def per_point(self) -> float:
        """Cost of one point, once its sparsity's weights exist."""
        return self.quantize + self.centroids + self.encode + self.evaluate

    @property
    def per_sparsity(self) -> float:
        """Cost of one sparsity's weights."""
        return self.gradual + self.prune + self.recover + self.evaluate + self.calibrate

    @property
    def before_points(self) -> float:
        """Cost of all steps before the first sparsity."""
        return self.baseline + self.evaluate + self.finetune

    def until(self, sparsities: int, points: int) -> float:
        """Cost of a run until so many sparsities and points are done."""
        return self.before_points + sparsities * self.per_sparsity + points * self.per_point

    @property
    def total(self) -> float:
        """Cost of the whole run."""
        return self.until(self.sparsities, self.points)


class ProgressMeter:
    """Reports to an observer which fraction of a run is done; the fraction never falls.

    Args:
        observer: receives the fraction.
        total: cost of the whole run.
    """

    def __init__(self, observer: Observer, total: float) -> None:
        self._observer = observer
        self._total = total
        self._position = 0.0
        self._told = 0.0

    def seek(self, position: float) -> None:
        """Report that the steps up to the cost ``position`` are done."""
        self._position = position
        self._tell(position)

    def advance(self, cost: float) -> None:
        """A step of this cost is done."""
        self.seek(self._position + cost)

    def within(self, cost: float) -> Callable[[float], None]:
        """A function that takes the done fraction, 0..1, of the step under way, which costs ``cost`` as a whole."""
        start = self._position

        def tell(fraction: float) -> None:
            self._tell(start + cost * fraction)

        return tell

    def finish(self) -> None:
        """Report that the run is done."""
        self._tell(self._total)

    def _tell(self, position: float) -> None:
        fraction = min(position / self._total, 1.0) if self._total else 1.0
        if fraction > self._told:
            self._told = fraction
            self._observer.progress(fraction)
