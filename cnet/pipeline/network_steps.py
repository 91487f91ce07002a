"""One run under way: its steps, each made once and found again when the run is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from cnet.capabilities import needs_curvature
from cnet.errors import TrainingError
from cnet.observer import check_stop
from cnet.pipeline import log_warnings
from cnet.pipeline.inputs import RunObserver
from cnet.pipeline.network import Mask, OnFraction, TrainableNetwork, TrainingRun, evaluate
from cnet.pipeline.plan import CompressionPlan
from cnet.pipeline.point_metrics import PointRequest, baseline_result
from cnet.pipeline.point_steps import Maker, PrunedNetwork, masked
from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.pipeline.run_folder import RunFolder
from cnet.points import BaselineResult, Point
from cnet.products import expanded
from cnet.prune import Curvature
from cnet.search import Candidate, Conditions, Forecast, Grid
from cnet.weights import Weights

Training = Callable[[Path, OnFraction], Weights]


class Visits:
    """The sparsities of a run in the order of their first points, and the weights of the one that it is at."""

    def __init__(self) -> None:
        self.sparsities: list[float] = []
        self.here: tuple[int, PrunedNetwork] | None = None

    def position(self, sparsity: float) -> int:
        """The place of a sparsity in the order."""
        if sparsity not in self.sparsities:
            self.sparsities.append(sparsity)
        return self.sparsities.index(sparsity)


@dataclass(frozen=True, eq=False)
class Session:
    """The steps up to a sparsity's weights; ``maker`` makes points of these.

    What a step makes is asked for only where a later step is still to be made: a run that is resumed loads nothing
    that it does not need. A run that ``returns`` to sparsities where it was before keeps their weights.
    """

    given: Weights | None
    plan: CompressionPlan
    net: TrainableNetwork | None
    effort: StepCosts
    observer: RunObserver
    store: RunFolder
    meter: ProgressMeter
    maker: Maker
    returns: bool
    visits: Visits = field(default_factory=Visits)

    @cached_property
    def original(self) -> Weights:
        """The checkpoint's weights, or those of the baseline trained from scratch."""
        if self.given is not None:
            return self.given
        if self.net is None:
            raise TrainingError("there is neither a checkpoint nor a data set to train a baseline on: give one of them")
        return self._trained("baseline", self.effort.baseline, self.net.initial)

    @cached_property
    def baseline(self) -> BaselineResult:
        """The net before compression, measured."""
        found = self.store.record("baseline")
        if found is not None:
            self.observer.log("baseline: measured before")
            result = BaselineResult.from_json(found)
        else:
            self.observer.phase("baseline")
            original = self.original
            self._say(log_warnings.about_weights(original))
            result = baseline_result(original, *evaluate(self.net, original))
            self.store.set_record("baseline", result.to_json())
        self.observer.baseline(result)
        self.meter.seek(self.effort.baseline + self.effort.evaluate)
        return result

    @cached_property
    def start(self) -> Weights:
        """The original in the form in which it is trained, pruned and stored."""
        if self.plan.transform is None:
            return self.original
        self.observer.phase("transform")
        weights = self.plan.transform.transformed(self.original)
        numbers = f"{self.original.compressible_parameters:,} weights as {weights.compressible_parameters:,}"
        self.observer.log(f"{len(weights.products)} tensors are kept as two factors: {numbers}")
        check_stop(self.observer)
        return weights

    @cached_property
    def tuned(self) -> Weights:
        """Weights just before pruning: one fine-tuning for all points."""
        net = self.net
        if net is None:
            return self._thinned()
        self.observer.phase("finetune")

        def finetune(state: Path, on_fraction: OnFraction) -> Weights:
            return net.finetune(self.start, state, on_fraction)

        weights = self._trained("finetune", self.effort.finetune, finetune)
        if self._teacher is None:
            self.store.drop_weights("baseline")
        return weights

    def _thinned(self) -> Weights:
        """What the method makes of the weights alone, where the job has one and no data."""
        if self.plan.method is None:
            return self.start
        self.observer.phase("proximal")
        weights = self.plan.method.without_data(self.start)
        zeros, count = int(np.count_nonzero(weights.vector() == 0)), weights.compressible_parameters
        self.observer.log(f"after the method's proximal step {zeros} of {count} weights are zero")
        check_stop(self.observer)
        return weights

    @property
    def _teacher(self) -> Weights | None:
        """The net to learn from in pruning and recovery, where the job asks for it."""
        return self.original if self.net is not None and self.net.learns_from_teacher else None

    def conditions(self, grid: Grid) -> Conditions:
        """What a search of ``grid`` has to know; made from the weights just before pruning, once."""
        found = self.store.record("forecast")
        forecast = Forecast.of(grid, self.tuned.vector(), self.baseline) if found is None else Forecast.from_json(found)
        if found is None:
            self.store.set_record("forecast", forecast.to_json())
        images = None if self.net is None else self.net.test_images
        return Conditions(self.baseline, forecast, images, self.effort.per_sparsity / self.effort.per_point)

    def point(self, candidate: Candidate, index: int) -> Point:
        """The point of a candidate, its ``index`` being how many came before."""
        request = PointRequest(index, candidate.sparsity, candidate.clusters, candidate.quantizer)
        start = self.effort.until(len(self.visits.sparsities), index)
        position = self.visits.position(candidate.sparsity)
        if not self.returns and position:
            self.store.drop_weights(_recovery(position - 1))
        point = self.maker.found(request)
        if point is None:
            point = self.maker.make(request, self._pruned(candidate.sparsity, position, start), self.baseline)
        self.maker.tell(point)
        self.meter.seek(self.effort.until(len(self.visits.sparsities), index + 1))
        check_stop(self.observer)
        return point

    def _pruned(self, sparsity: float, position: int, start: float) -> PrunedNetwork:
        """Weights at one sparsity: pruned, recovered, evaluated; those of an earlier visit, where there was one."""
        if self.visits.here is not None and self.visits.here[0] == position:
            return self.visits.here[1]
        self.visits.here = None  # before the next is made: they are large
        tuned = self.tuned
        self.meter.seek(start)
        weights = self.store.weights(_recovery(position))
        if weights is None:
            weights = self._pruned_anew(sparsity, position)
        else:
            self.observer.log(f"sparsity {sparsity:g}: pruned and recovered before, its weights are taken over")
        accuracy, _ = evaluate(self.net, weights)
        self.meter.advance(self.effort.evaluate)
        check_stop(self.observer)
        reference = self.original if self.net is None else tuned
        measure = partial(self.net.curvature, weights) if self.net else None
        pruned = PrunedNetwork(expanded(reference).vector(), weights, accuracy, self._teacher, measure)
        self.visits.here = (position, pruned)
        return pruned

    def _pruned_anew(self, sparsity: float, position: int) -> Weights:
        self.observer.phase("prune")
        dense = self._pruned_gradually(sparsity, position)
        keep = self.plan.pruner.keep(dense, sparsity, self._curvature(dense))
        self._say(log_warnings.about_pruning(dense, keep, sparsity))
        weights = masked(dense, keep)
        self.meter.advance(self.effort.prune)
        check_stop(self.observer)
        return self._recovered(weights, keep, position)

    def _curvature(self, weights: Weights) -> Curvature | None:
        """Of the net as it is pruned, where the pruner asks for it and there is something to measure it with."""
        net = self.net
        return net.curvature(weights) if net is not None and needs_curvature(self.plan.pruner) else None

    def _pruned_gradually(self, sparsity: float, position: int) -> Weights:
        """The net that is to be pruned: where pruning is gradual, and there is something to prune, it has its zeros."""
        net, pruner = self.net, self.plan.pruner
        if net is None or not pruner.gradual_epochs or not sparsity:
            self.meter.advance(self.effort.gradual)
            return self.tuned

        def train(state: Path, on_fraction: OnFraction) -> Weights:
            run = TrainingRun(state, on_fraction, self._teacher)
            return net.prune_gradually(self.tuned, pruner, sparsity, run)

        return self._trained(_gradual(position), self.effort.gradual, train)

    def _recovered(self, weights: Weights, keep: Mask, position: int) -> Weights:
        net = self.net
        if net is None:
            return weights
        self.observer.phase("recover")

        def recover(state: Path, on_fraction: OnFraction) -> Weights:
            return net.recover(weights, keep, TrainingRun(state, on_fraction, self._teacher))

        recovered = self._trained(_recovery(position), self.effort.recover, recover)
        self.store.drop_weights(_gradual(position))
        self.observer.phase("evaluate")
        return recovered

    def _trained(self, name: str, cost: float, train: Training) -> Weights:
        """What ``train`` makes, or made in an earlier attempt; its own state goes when its weights are safe."""
        weights = self.store.weights(name)
        if weights is None:
            made = train(self.store.training(name), self.meter.within(cost))
            weights = self.store.set_weights(name, made)
        else:
            self.observer.log(f"{name}: finished before, its weights are taken over")
        self.store.drop_training(name)
        self.meter.advance(cost)
        check_stop(self.observer)
        return weights

    def _say(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self.observer.log(sentence)


def _gradual(position: int) -> str:
    return f"prune-{position:03d}"


def _recovery(position: int) -> str:
    return f"recover-{position:03d}"
