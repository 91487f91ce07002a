"""The steps on the network before it is quantized: baseline, transform, finetune; and for each sparsity prune, recover.

The result of a step is saved, and a later attempt at the same run reuses it. A step runs only when a later step needs
its result, so that an attempt whose points are all finished loads and trains nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.equal_tensors import copy_mask, find_equal_tensors
from cnet.errors import TrainingError
from cnet.observer import check_stop
from cnet.parts.capabilities import needs_curvature
from cnet.pipeline import log_warnings
from cnet.pipeline.calibrated_network import CalibratedNetwork
from cnet.pipeline.context import RunContext
from cnet.pipeline.network import Mask, OnFraction, TrainableNetwork, TrainingRun, evaluate
from cnet.pipeline.point_metrics import Vector
from cnet.products import multiply_products
from cnet.prune import Curvature
from cnet.results.measurements import BaselineMeasurement
from cnet.results.metrics import compute
from cnet.results.points import BaselineResult
from cnet.search import CandidateGrid, Forecast, SearchInputs
from cnet.weights import Weights

Training = Callable[[Path, OnFraction], Weights]


@dataclass(frozen=True, eq=False)
class PrunedNetwork:
    """A network at one sparsity, from which the points of that sparsity are made.

    Attributes:
        original: w_net just before pruning, shape (n,), float32 or float64: what errors are measured against.
        weights: after pruning and recovery; every zero of w_net is a pruned weight.
        accuracy: of ``weights``, in percent; None without a data set.
        teacher: the network to learn from when the centroids are trained; None where the job asks for no distillation.
        measure_curvature: gives the curvature of the loss at ``weights``; None without a data set.
    """

    original: Vector
    weights: Weights
    accuracy: float | None
    teacher: Weights | None
    measure_curvature: Callable[[], Curvature] | None = None

    @cached_property
    def curvature(self) -> Curvature | None:
        """Curvature of the loss at ``weights``, shape (n,); measured once for all points that ask for it."""
        return self.measure_curvature() if self.measure_curvature else None


class NetworkSteps:
    """The networks of a run, each made by its step when it is first asked for.

    Attributes:
        sparsities: those of the points so far, each once, in the order of their first points.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self.sparsities: list[float] = []
        self._pruned: tuple[float, PrunedNetwork] | None = None

    @cached_property
    def original(self) -> Weights:
        """The checkpoint's weights, or those of a baseline trained from scratch. Raises TrainingError."""
        context = self._context
        if context.checkpoint is not None:
            return context.checkpoint
        if context.network is None:
            raise TrainingError(
                "baseline: the run has neither a checkpoint nor a data set. Give a checkpoint, or an architecture and "
                "a data set to train on."
            )
        return self._train("baseline", context.costs.baseline, context.network.initial)

    @cached_property
    def baseline(self) -> BaselineResult:
        """Sizes and accuracy of the network before compression."""
        context = self._context
        record = context.folder.record("baseline")
        if record is not None:
            context.observer.log("baseline: measured by an earlier attempt")
            result = BaselineResult.from_json(record)
        else:
            context.observer.phase("baseline")
            original = self.original
            context.log(log_warnings.about_weights(original))
            result = compute(BaselineResult, BaselineMeasurement(original, evaluate(context.network, original)))
            context.folder.set_record("baseline", result.to_json())
        context.observer.baseline(result)
        context.meter.seek(context.costs.baseline + context.costs.evaluate)
        return result

    @cached_property
    def transformed(self) -> Weights:
        """The original in the form in which it is trained, pruned and stored."""
        context, original = self._context, self.original
        if context.plan.transform is None:
            return original
        with context.phase("transform"):
            weights = context.plan.transform.transformed(original)
            before, after = original.compressible_parameters, weights.compressible_parameters
            context.observer.log(f"transform {context.plan.transform.name}: {before:,} weights become {after:,}")
        return weights

    @cached_property
    def finetuned(self) -> Weights:
        """The weights before pruning, made once for all points: fine-tuned with the method's penalty.

        Without a data set a method that works on weights alone is applied in its place, where the job names one.
        """
        context = self._context
        network = context.network
        if network is None:
            return self._apply_method_without_data()
        context.observer.phase("finetune")
        self._choose_rate(network)

        def finetune(state: Path, on_fraction: OnFraction) -> Weights:
            return network.finetune(self.transformed, state, on_fraction)

        weights = self._train("finetune", context.costs.finetune, finetune)
        if self._teacher is None:
            context.folder.drop_weights("baseline")
        return weights

    def _choose_rate(self, network: TrainableNetwork) -> None:
        """Find the learning rate for a checkpoint, where the job names none; an earlier attempt may have found it."""
        context = self._context
        if context.checkpoint is None or not network.rate_is_open:
            return
        record = context.folder.record("rate")
        if record is None:
            trial = network.try_rates(self.transformed)
            context.observer.log(f"finetune: {trial}")
            record = {"rate": trial.rate}
            context.folder.set_record("rate", record)
        network.set_rate(record["rate"])

    def search_inputs(self, grid: CandidateGrid) -> SearchInputs:
        """What a search of ``grid`` has to know, measured on the weights before pruning and recorded."""
        context = self._context
        record = context.folder.record("forecast")
        if record is None:
            forecast = Forecast.of(grid, self.finetuned.vector(), self.baseline)
            context.folder.set_record("forecast", forecast.to_json())
        else:
            forecast = Forecast.from_json(record)
        network = context.network
        samples = None if network is None else len(network.dataset.splits[network.choice_split])
        return SearchInputs(self.baseline, forecast, samples, context.costs.per_sparsity / context.costs.per_point)

    def sensitivities(self, calibrated: CalibratedNetwork, pruned: Weights, sparsity: float) -> dict[str, Any]:
        """What a calibration measures on a pruned network once for all points of its sparsity, and recorded."""
        context, name = self._context, f"sensitivities-{self.sparsities.index(sparsity):03d}"
        record = context.folder.record(name)
        if record is None:
            with context.phase("calibrate", context.costs.calibrate):
                told = context.meter.within(context.costs.calibrate)
                record = calibrated.sensitivities(pruned, told)
            context.folder.set_record(name, record)
        return record

    def visit(self, sparsity: float) -> None:
        """Note that the next point has this sparsity, and drop saved weights that no later point will ask for."""
        if sparsity not in self.sparsities:
            self.sparsities.append(sparsity)
        position = self.sparsities.index(sparsity)
        if position and not self._context.revisits_sparsities:
            self._context.folder.drop_weights(_recovery(position - 1))

    def prune(self, finetuned: Weights, sparsity: float) -> PrunedNetwork:
        """The network ``finetuned`` pruned to a visited sparsity, recovered and evaluated; the last one is kept."""
        if self._pruned is not None and self._pruned[0] == sparsity:
            return self._pruned[1]
        self._pruned = None  # before the next one is made: each is as large as the network
        context = self._context
        position = self.sparsities.index(sparsity)
        weights = context.folder.weights(_recovery(position))
        if weights is None:
            dense = self._prune_gradually(finetuned, sparsity, position)
            weights = self._recover(*self._set_zeros(dense, sparsity), position)
        else:
            context.observer.log(f"sparsity {sparsity:g}: weights pruned and recovered by an earlier attempt")
        accuracy = None if context.network is None else context.network.test_accuracy(weights)
        context.advance(context.costs.evaluate)
        reference = self.original if context.network is None else finetuned
        curvature = partial(context.network.curvature, weights) if context.network else None
        pruned = PrunedNetwork(multiply_products(reference).vector(), weights, accuracy, self._teacher, curvature)
        self._pruned = (sparsity, pruned)
        return pruned

    @property
    def _teacher(self) -> Weights | None:
        """The network to learn from in pruning and recovery, where the job asks for it."""
        network = self._context.network
        return self.original if network is not None and network.learns_from_teacher else None

    def _apply_method_without_data(self) -> Weights:
        context, weights = self._context, self.transformed
        if context.plan.method is None:
            return weights
        with context.phase("proximal"):
            weights = context.plan.method.without_data(weights)
            zeros, count = int(np.count_nonzero(weights.vector() == 0)), weights.compressible_parameters
            context.observer.log(f"after the method's proximal step {zeros} of {count} weights are zero")
        return weights

    def _prune_gradually(self, finetuned: Weights, sparsity: float, position: int) -> Weights:
        """The training in which sparsity rises, where the pruner asks for it and there is something to prune."""
        context = self._context
        network, pruner = context.network, context.plan.pruner
        context.observer.phase("prune")
        if network is None or not pruner.gradual_epochs or not sparsity:
            context.meter.advance(context.costs.gradual)
            return finetuned

        def train(state: Path, on_fraction: OnFraction) -> Weights:
            run = TrainingRun(state, on_fraction, self._teacher)
            return network.prune_gradually(finetuned, pruner, sparsity, run)

        return self._train(_gradual_pruning(position), context.costs.gradual, train)

    def _set_zeros(self, dense: Weights, sparsity: float) -> tuple[Weights, Mask]:
        """The pruned weights and the mask, bool, shape (n,)."""
        context = self._context
        network, pruner = context.network, context.plan.pruner
        curvature = network.curvature(dense) if network is not None and needs_curvature(pruner) else None
        mask = copy_mask(pruner.keep(dense, sparsity, curvature), find_equal_tensors(dense))
        context.log(log_warnings.about_mask(dense, mask, sparsity))
        weights = masked(dense, mask)
        context.advance(context.costs.prune)
        return weights, mask

    def _recover(self, weights: Weights, mask: Mask, position: int) -> Weights:
        """Train what the mask leaves; the weights as they are without a data set."""
        context = self._context
        network = context.network
        if network is None:
            return weights
        context.observer.phase("recover")

        def recover(state: Path, on_fraction: OnFraction) -> Weights:
            return network.recover(weights, mask, TrainingRun(state, on_fraction, self._teacher))

        recovered = self._train(_recovery(position), context.costs.recover, recover)
        context.folder.drop_weights(_gradual_pruning(position))
        context.observer.phase("evaluate")
        return recovered

    def _train(self, name: str, cost: float, train: Training) -> Weights:
        """The weights that ``train`` makes, or that an earlier attempt saved. Its own state is dropped afterwards."""
        context = self._context
        weights = context.folder.weights(name)
        if weights is not None:
            context.observer.log(f"{name}: weights of an earlier attempt are taken over")
        else:
            weights = context.take_shared(name)
        if weights is None:
            made = train(context.folder.training(name), context.meter.within(cost))
            weights = context.folder.set_weights(name, made)
        context.give_shared(name)
        context.folder.drop_training(name)
        context.meter.advance(cost)
        check_stop(context.observer)
        return weights


def masked(weights: Weights, mask: npt.NDArray[np.bool_]) -> Weights:
    """The weights with zeros where ``mask``, bool, shape (n,), is false. A weight that is -0.0 stays -0.0."""
    vector = weights.vector()
    return weights.with_vector(np.where(mask | (vector == 0), vector, vector.dtype.type(0)))


def _gradual_pruning(position: int) -> str:
    """Name of the weights after gradual pruning to the sparsity at ``position``."""
    return f"prune-{position:03d}"


def _recovery(position: int) -> str:
    """Name of the weights after recovery at the sparsity at ``position``."""
    return f"recover-{position:03d}"
