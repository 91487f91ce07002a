"""The only way in to training: weights in, weights out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import torch

from cnet import arrays
from cnet.data import Dataset
from cnet.errors import DatasetError, TrainingError
from cnet.observer import Observer, SilentObserver
from cnet.parts.capabilities import needs_curvature
from cnet.prune import Curvature
from cnet.symbols import Symbols
from cnet.training.applied_method import AppliedMethod
from cnet.training.batches import ImageSplit, load_images
from cnet.training.config import Preprocess, Training
from cnet.training.constraints import FixedMask, FrozenWeights, GrowingMask, SharedCentroids, WeightConstraint
from cnet.training.constraints.centroids import sorted_symbols, symbols_digest
from cnet.training.cuda_graphs import GraphRecorderFactory, StepRunner, cuda_graph_recorder, make_step_runner
from cnet.training.device import choose_device, deterministic_numerics, report_out_of_memory
from cnet.training.loop import OnFraction, TrainingLoop
from cnet.training.measurements.batch_norm import measure_statistics, merge_statistics
from cnet.training.measurements.curvature import fisher_diagonal
from cnet.training.measurements.evaluation import Evaluation, evaluate_network, mean_loss
from cnet.training.networks.builder import NetworkBuilder
from cnet.training.networks.loaded import LoadedNetwork, build_for, fresh_weights
from cnet.training.stage import Mask, TrainingStage
from cnet.training.tasks import Classification, DistilledClassification, Task
from cnet.weights import Selection, Weights


def _ignore_fraction(fraction: float) -> None:
    del fraction


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains and evaluates one network on one data set.

    The data set is copied to the device once, at its first use. Each call builds the network once, and the network of a
    teacher once more. The same weights, stage and seed give the same result on one kind of machine, whether or not the
    stage was interrupted and resumed. Weights of any element type are trained as float32 and returned in their own
    types.

    Attributes:
        network: builds the network.
        dataset: images to train on and to evaluate on.
        training: device, precision, and batch size of evaluation.
        preprocess: scaling of the images; None leaves them as they are.
        selection: which tensors of a fresh network are compressible.
        observer: receives each epoch, and is asked before each batch whether to stop.
        graph_recorder: makes what records training steps, where the method allows it; by default CUDA graphs on a GPU.

    """

    network: NetworkBuilder
    dataset: Dataset
    training: Training = field(default_factory=Training)
    preprocess: Preprocess | None = None
    selection: Selection = field(default_factory=Selection)
    observer: Observer = field(default_factory=SilentObserver)
    graph_recorder: GraphRecorderFactory = cuda_graph_recorder

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
        The result is never worse on the training images than the input: of the two, the one with the lower loss is
        returned. Centroids are returned ascending and distinct; centroids that became equal are merged. Without labels
        or epochs, the weights are only set to the values of ``symbols``.

        Args:
            weights: names, types, and the tensors that are not compressible; w_net is taken from ``symbols``.
            symbols: mask, labels and centroids of w_net.
            stage: what to do; its ``mask`` is not used, since ``symbols`` have one.
            on_fraction: as in ``train``.

        Raises: as ``train``; a training that diverges is no error here: the input is returned.

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

    def evaluate(self, weights: Weights) -> Evaluation:
        """Accuracy in percent and mean loss on the test images, in float32.

        Raises: as ``train``; TrainingError (``not_finite``) if an output is infinite or NaN.
        """
        with deterministic_numerics(), report_out_of_memory():
            module = self.load(weights).module
            return evaluate_network(module, self._images[1], self._evaluation_batch_size, self.observer)

    def curvature(self, weights: Weights) -> Curvature:
        """Diagonal of the Fisher information, shape (n,), float64, in the order of w_net.

        Raises: as ``train``, without ``diverged``; TrainingError (``not_finite``) if an output is infinite or NaN.
        """
        with deterministic_numerics(), report_out_of_memory():
            return self._curvature(self.load(weights))

    def with_batch_norm_measured(self, weights: Weights) -> Weights:
        """The same weights with the statistics of batch normalization measured again on training images.

        Raises: as ``train``, without ``diverged``.
        """
        with deterministic_numerics(), report_out_of_memory():
            return self._measured(self.load(weights), weights)

    def with_batch_norm_merged(self, weights: Weights) -> Weights:
        """The same function with the statistics of batch normalization merged into its scale and shift."""
        return merge_statistics(weights, build_for(self.network, weights))

    def load(self, weights: Weights) -> LoadedNetwork:
        """Build the network on the device and load ``weights``.

        Raises: as ``train``, without ``diverged``.
        """
        return LoadedNetwork(self.network, weights, self.device, self.training.precision)

    def loop(
        self,
        network: LoadedNetwork,
        stage: TrainingStage,
        constraint: WeightConstraint | None = None,
        task: Task | None = None,
    ) -> TrainingLoop:
        """The loop that trains a loaded network for one stage.

        Args:
            network: trained in place.
            stage: what to do.
            constraint: restricts how the weights move; None restricts nothing.
            task: what the network learns; None takes it from the stage.

        """
        method = AppliedMethod(stage, network.module, network.compressible_parameters())
        runner = self._step_runner(network, method, stage)
        constraint, task = constraint or WeightConstraint(), task or self._task(stage)
        return TrainingLoop(network.module, self._images[0], stage, self.observer, constraint, method, task, runner)

    @cached_property
    def device(self) -> torch.device:
        """The device on which networks are trained and evaluated."""
        return choose_device(self.training.device)

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
        """Trained weights and symbols; None where their loss on the training images is not lower."""
        task, tensors = self._task(stage), network.compressible_tensors()
        shared = None if stage.freeze_centroids else SharedCentroids(tensors, symbols)
        loop = self.loop(network, stage, shared or FrozenWeights(tensors), task)
        loop.run(stage.identity(self._identity, weights.digest(), symbols_digest(symbols)), on_fraction)
        moved = sorted_symbols(symbols, shared.centroids()) if shared else symbols
        trained = network.to_weights(weights).with_vector(moved.vector())
        trained = self._remeasured(network, trained, stage)
        better = self._training_loss(network, trained, task) < self._training_loss(network, weights, task)
        return (trained, moved) if better else None

    def _training_loss(self, network: LoadedNetwork, weights: Weights, task: Task) -> float:
        network.load(weights)
        return mean_loss(network.module, self._images[0], self._evaluation_batch_size, self.observer, task)

    def _remeasured(self, network: LoadedNetwork, weights: Weights, stage: TrainingStage) -> Weights:
        """``weights`` with batch normalization measured again where the stage asks for it."""
        if not stage.remeasure_batch_norm:
            return weights
        network.load(weights)
        return self._measured(network, weights)

    def _measured(self, network: LoadedNetwork, weights: Weights) -> Weights:
        """``weights``, which ``network`` holds, with batch normalization measured again."""
        if not measure_statistics(network.module, self._images[0], self._small_batch_size, self.observer):
            return weights
        compressible = {name: weights[name].data for name in weights.compressible}
        return network.to_weights(weights).with_arrays(compressible)

    def _curvature(self, network: LoadedNetwork) -> Curvature:
        parts = fisher_diagonal(network.module, network.compressible_tensors(), self._images[0], self.observer)
        return torch.cat([part.reshape(-1) for part in parts]).cpu().numpy() if parts else np.zeros(0)

    def _step_runner(self, network: LoadedNetwork, method: AppliedMethod, stage: TrainingStage) -> StepRunner:
        parameters = (*network.module.parameters(), *method.parameters())
        recorder = self.graph_recorder(self.device, parameters) if method.recordable else None
        return make_step_runner(recorder, parameters, lambda text: self.observer.log(f"{stage.name}: {text}"))

    def _task(self, stage: TrainingStage) -> Task:
        given = stage.distillation
        if given is None:
            return Classification()
        return DistilledClassification(self.load(given.teacher).module, given.settings)

    @property
    def _small_batch_size(self) -> int:
        return min(max(self.training.batch_size, 32), 256)

    @property
    def _evaluation_batch_size(self) -> int:
        """Images in a batch of an evaluation: more on a GPU, where a small network waits for launches."""
        return self._small_batch_size * (4 if self.device.type == "cuda" else 1)

    @cached_property
    def _images(self) -> tuple[ImageSplit, ImageSplit]:
        if self.network.input_shapes != (self.dataset.input_shape,):
            raise DatasetError(
                f"data set: it has one input of shape {self.dataset.input_shape}, but {self.network.name} takes "
                f"{self.network.input_shapes}. Use the data set that the network was made for.",
                code="wrong_input_shape",
            )
        return load_images(self.dataset, self.preprocess or Preprocess(), self.device)

    @cached_property
    def _identity(self) -> str:
        """SHA-256, hex, of network, scaling and training images."""
        settings = (self.network.identity, (self.preprocess or Preprocess()).model_dump_json())
        images = arrays.digest((self.dataset.train.input, self.dataset.train.labels))
        return hashlib.sha256(repr((*settings, images)).encode()).hexdigest()


def _masked(weights: Weights, mask: Mask) -> Weights:
    """``weights`` with the entries of w_net at exactly +0 for which ``mask``, shape (n,), is False."""
    vector = weights.vector()
    vector[~mask] = 0
    return weights.with_vector(vector)
