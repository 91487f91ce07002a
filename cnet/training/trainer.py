"""The interface of this package: functions that take weights, train or measure a network, and return weights."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property, partial

from cnet import arrays
from cnet.errors import TrainingError
from cnet.parts.capabilities import needs_curvature
from cnet.symbols import Symbols
from cnet.training.applied_method import AppliedMethod
from cnet.training.batches import batch_count
from cnet.training.config import Preprocess
from cnet.training.constraints import FixedMask, FrozenWeights, GrowingMask, SharedCentroids, WeightConstraint
from cnet.training.constraints.centroids import sorted_symbols, symbols_digest
from cnet.training.cuda_graphs import StepRunner, make_step_runner
from cnet.training.device import deterministic_numerics, report_out_of_memory
from cnet.training.device_splits import DeviceSplit
from cnet.training.evaluator import NetworkEvaluator
from cnet.training.loop import OnFraction, TrainingLoop
from cnet.training.measurements.evaluation import mean_loss
from cnet.training.networks.loaded import LoadedNetwork, fresh_weights
from cnet.training.objectives import DistilledObjective, Objective
from cnet.training.stage import Mask, TrainingStage
from cnet.weights import Weights


def _ignore_fraction(fraction: float) -> None:
    del fraction


@dataclass(frozen=True, eq=False)
class Trainer(NetworkEvaluator):
    """Trains and evaluates one network on one data set.

    Each call builds the network once, and the network of a teacher once more. The same weights, stage and seed give the
    same result on one kind of machine, whether or not the stage was interrupted and resumed. Weights of any element
    type are trained as float32 and returned in their own types.

    """

    def initial(self, seed: int) -> Weights:
        """Random weights to train from scratch, all tensors of the network, float32. Raises as ``fresh_weights``."""
        return fresh_weights(self.network, seed, self.selection)

    def train(self, weights: Weights, stage: TrainingStage, on_fraction: OnFraction = _ignore_fraction) -> Weights:
        """``weights`` after the stage's epochs; without epochs, ``weights`` with the masked entries at zero.

        Args:
            weights: where to start.
            stage: what to do; weights that its mask prunes are exactly zero in the result.
            on_fraction: told after each batch the done part of the stage, 0..1.

        Raises:
            ArchitectureMismatchError: the weights are not those of the network.
            DatasetError, SpecError: data set and network, or settings and data set, do not fit together.
            TrainingError: ``no_device``, ``out_of_memory``, ``diverged``.
            StoppedError: the observer asks to stop.

        """
        if stage.mask is not None:
            weights = _masked(weights, stage.mask)
        if not (stage.training.epochs or stage.remeasure_batch_norm):
            return weights
        with deterministic_numerics(), report_out_of_memory():
            network = self.load(weights)
            if stage.training.epochs:
                weights = self._trained(network, weights, stage, on_fraction)
            return self._remeasured(network, weights, stage)

    def train_centroids(
        self, weights: Weights, symbols: Symbols, stage: TrainingStage, on_fraction: OnFraction = _ignore_fraction
    ) -> tuple[Weights, Symbols]:
        """Trained centroids, and weights in which all that is not compressible is trained; mask and labels stay.

        With ``freeze_centroids`` the centroids stay too: they are a grid that the quantizer or the encoder relies on.
        The result is never worse on the validation split (without one on the training split) than the input: of the
        two, the one with the lower loss is returned. Centroids are returned ascending and distinct; centroids that
        became equal are merged. Without labels or epochs, the weights are only set to the values of ``symbols``.

        Args:
            weights: names, types, and the tensors that are not compressible; w_net is taken from ``symbols``.
            symbols: mask, labels and centroids of w_net.
            stage: what to do; its ``mask`` is not used, since ``symbols`` have one.
            on_fraction: as in ``train``.

        Raises: as ``train``; a training that diverges is not an error here: the input is returned.

        """
        weights = weights.with_vector(symbols.vector())
        trains = symbols.labels is not None and len(symbols.labels) > 0 and stage.training.epochs > 0
        if not (trains or stage.remeasure_batch_norm):
            return weights, symbols
        with deterministic_numerics(), report_out_of_memory():
            network = self.load(weights)
            weights = self._remeasured(network, weights, stage)
            frozen = FrozenWeights(network.compressible_tensors())
            if not trains or (stage.freeze_centroids and not frozen.parameters(network.module)):
                return weights, symbols
            try:
                better = self._better_centroids(network, weights, symbols, stage, on_fraction)
            except TrainingError as error:
                if error.code not in ("diverged", "not_finite"):
                    raise
                self.observer.log(f"{stage.name}: the training diverged; weights and centroids stay as they were")
                return weights, symbols
        if better is None:
            self.observer.log(f"{stage.name}: no lower loss was found; weights and centroids stay as they were")
        return better or (weights, symbols)

    def loop(
        self,
        network: LoadedNetwork,
        stage: TrainingStage,
        constraint: WeightConstraint | None = None,
        objective: Objective | None = None,
    ) -> TrainingLoop:
        """The loop that trains a loaded network for one stage.

        Args:
            network: trained in place.
            stage: what to do.
            constraint: restricts how the weights move; None restricts nothing.
            objective: what the network learns; None takes it from the stage.

        """
        method = AppliedMethod(stage, network.module, network.compressible_parameters())
        runner = self._step_runner(network, method, stage)
        constraint, objective = constraint or WeightConstraint(), objective or self._objective(stage)
        split = self._splits["train"]
        return TrainingLoop(network.module, split, stage, self.observer, constraint, method, objective, runner)

    def _trained(
        self, network: LoadedNetwork, weights: Weights, stage: TrainingStage, on_fraction: OnFraction
    ) -> Weights:
        loop = self.loop(network, stage, self._mask_constraint(network, weights, stage))
        loop.run(stage.identity(self._identity, weights.digest()), on_fraction)
        trained = network.to_weights(weights)
        if stage.gradual_pruning is not None:
            return trained.with_vector(trained.vector() + 0)  # pruned weights may be -0
        return trained if stage.mask is None else _masked(trained, stage.mask)

    def _mask_constraint(self, network: LoadedNetwork, weights: Weights, stage: TrainingStage) -> WeightConstraint:
        """The constraint that holds pruned weights at zero in ``stage``."""
        tensors, pruning = network.compressible_tensors(), stage.gradual_pruning
        if not tensors:
            return WeightConstraint()
        if pruning is None:
            return WeightConstraint() if stage.mask is None else FixedMask(tensors, stage.mask)
        measure = partial(self._curvature, network) if needs_curvature(pruning.pruner) else None
        return GrowingMask(tensors, pruning.mask_drawer(weights), pruning.gradual, measure)

    def _better_centroids(
        self, network: LoadedNetwork, weights: Weights, symbols: Symbols, stage: TrainingStage, on_fraction: OnFraction
    ) -> tuple[Weights, Symbols] | None:
        """Trained weights and symbols; None where their loss on the split for choices is not lower."""
        objective, tensors = self._objective(stage), network.compressible_tensors()
        shared = None if stage.freeze_centroids else SharedCentroids(tensors, symbols)
        loop = self.loop(network, stage, shared or FrozenWeights(tensors), objective)
        loop.run(stage.identity(self._identity, weights.digest(), symbols_digest(symbols)), on_fraction)
        moved = sorted_symbols(symbols, shared.centroids()) if shared else symbols
        trained = network.to_weights(weights).with_vector(moved.vector())
        trained = self._remeasured(network, trained, stage)
        better = self._choice_loss(network, trained, objective) < self._choice_loss(network, weights, objective)
        return (trained, moved) if better else None

    def batch_count(self, batch_size: int) -> int:
        """Number of batches of one epoch."""
        return batch_count(self._splits["train"], batch_size)

    @property
    def choice_split(self) -> DeviceSplit:
        """The samples on which choices are made: those for validation; without them those for training."""
        return self._splits.get("validation", self._splits["train"])

    def _choice_loss(self, network: LoadedNetwork, weights: Weights, objective: Objective) -> float:
        """The loss on the split for choices, since test data decide nothing."""
        network.load(weights)
        return mean_loss(network.module, self.choice_split, self.evaluation_batch_size, self.observer, objective)

    def _remeasured(self, network: LoadedNetwork, weights: Weights, stage: TrainingStage) -> Weights:
        """``weights`` with batch normalization measured again where the stage asks for it.

        The statistics stay as they were where the new ones give a higher loss of the task on the split for choices: a
        training set that is small, or unlike what the network was trained on, says less than they do.
        """
        if not stage.remeasure_batch_norm:
            return weights
        network.load(weights)
        measured = self._measured(network, weights)
        if measured is weights:
            return weights
        before, after = (self._choice_loss(network, each, Objective(self.task)) for each in (weights, measured))
        if math.isfinite(before) and not after <= before:
            self.observer.log(f"{stage.name}: batch norm measured again gives a higher loss; its statistics stay")
            return weights
        return measured

    def _step_runner(self, network: LoadedNetwork, method: AppliedMethod, stage: TrainingStage) -> StepRunner:
        parameters = (*network.module.parameters(), *method.parameters())
        recorder = self.graph_recorder(self.device, parameters) if method.recordable else None
        return make_step_runner(recorder, parameters, lambda text: self.observer.log(f"{stage.name}: {text}"))

    def _objective(self, stage: TrainingStage) -> Objective:
        given = stage.distillation
        if given is None:
            return Objective(self.task)
        return DistilledObjective(self.task, self.load(given.teacher).module, given.settings)

    @cached_property
    def _identity(self) -> str:
        """SHA-256, hex, of network, task, scaling, and training and validation samples."""
        settings = (
            self.network.identity,
            self.task.model_dump_json(),
            (self.preprocess or Preprocess()).model_dump_json(),
        )
        splits = [split for split in (self.dataset.train, self.dataset.validation) if split is not None]
        samples = arrays.digest(values for split in splits for values in split.arrays())
        return hashlib.sha256(repr((*settings, samples)).encode()).hexdigest()


def _masked(weights: Weights, mask: Mask) -> Weights:
    """``weights`` with the entries of w_net at exactly +0 for which ``mask``, shape (n,), is False."""
    vector = weights.vector()
    vector[~mask] = 0
    return weights.with_vector(vector)
