"""The one door to training: weights in, weights out; the only part of the pipeline that torch runs in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor, nn

from cnet import arrays
from cnet.capabilities import needs_curvature
from cnet.data import Dataset
from cnet.errors import TrainingError
from cnet.models import Architecture
from cnet.observer import Observer, Silent
from cnet.prune import Curvature
from cnet.symbols import Symbols
from cnet.training import batches, convert, evaluate
from cnet.training.applied_method import AppliedMethod
from cnet.training.batch_norm import merged, reestimate
from cnet.training.centroids import Shared, sorted_symbols
from cnet.training.config import Preprocess, Training
from cnet.training.curvature import fisher_diagonal
from cnet.training.device import choose_device, laid_out, memory_errors, numerics
from cnet.training.evaluate import Evaluation
from cnet.training.gradual import Growing
from cnet.training.loop import Loop, OnFraction
from cnet.training.recover import Fixed, Free, Pinned
from cnet.training.replay import Graphs, Replayed, Steps
from cnet.training.stage import Stage
from cnet.training.task import Distilled, Task
from cnet.weights import Selection, Weights

__all__ = ["Evaluation", "Stage", "Trainer"]


def _unheard(fraction: float) -> None:
    del fraction


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains and evaluates nets of one architecture on one data set.

    The data set goes to the device once, at the first use. The same weights, stage and seed give the same result on
    one kind of machine, whether or not the stage was cut off and resumed. Weights of any element type are trained
    as float32 and returned in their own types.

    Attributes:
        architecture: the net.
        dataset: images to train on and to evaluate on.
        training: device, and batch size of evaluation.
        preprocess: scaling of the images; None leaves them as they are.
        selection: which tensors of a fresh net are compressible.
        observer: told of each epoch, asked before each batch whether to stop.
        replay: on a GPU, whether steps are recorded as CUDA graphs and replayed, where the method allows it.

    """

    architecture: Architecture
    dataset: Dataset
    training: Training = field(default_factory=Training)
    preprocess: Preprocess | None = None
    selection: Selection = field(default_factory=Selection)
    observer: Observer = field(default_factory=Silent)
    replay: bool = True

    def initial(self, seed: int) -> Weights:
        """Fresh random weights, all tensors of the net, float32. Raises SpecError where images are too small."""
        shape, classes = self.dataset.input_shape, self.dataset.classes
        return convert.initial(convert.fresh(self.architecture, shape, classes, seed), self.selection)

    def train(self, weights: Weights, stage: Stage, on_fraction: OnFraction = _unheard) -> Weights:
        """``weights`` after the stage's epochs; where there are none, as they came (pruned ones zero).

        Args:
            weights: where to start.
            stage: what to do; weights that its ``keep`` prunes are exactly zero in the result.
            on_fraction: told after each batch how much of the stage is done, 0..1.

        Raises:
            ArchitectureMismatchError: the weights are not of this architecture.
            DatasetError, SpecError: the data do not fit the net, or the settings the data.
            TrainingError: ``no_device``, ``out_of_memory``, ``diverged``.
            StoppedError: the observer asks to stop.

        """
        if stage.keep is not None:
            weights = _masked(weights, stage)
        if stage.training.epochs == 0:
            return self._remeasured(weights, stage)
        with numerics(), memory_errors():
            module = self._module(weights)
            pinning = self._pinning(module, weights, stage)
            loop = self._loop(module, weights, stage, pinning)
            loop.run(stage.identity(self._identity, weights.digest()), on_fraction)
            trained = convert.from_module(module, weights)
        if stage.rise is not None:
            trained = trained.with_vector(trained.vector() + 0)  # pinned weights may be -0
        elif stage.keep is not None:
            trained = _masked(trained, stage)
        return self._remeasured(trained, stage)

    def curvature(self, weights: Weights) -> Curvature:
        """What the pruner obd needs: the Fisher information's diagonal, shape (n,), in order of w_net.

        Raises: as ``train``, but for ``diverged``.
        """
        with numerics(), memory_errors():
            return self._curvature(self._module(weights), weights)

    def train_centroids(
        self, weights: Weights, symbols: Symbols, stage: Stage, on_fraction: OnFraction = _unheard
    ) -> tuple[Weights, Symbols]:
        """Shared values and all that is not compressible, trained while mask and labels stay.

        Where ``stage`` is ``fixed`` the shared values stay too: a grid that its quantizer or encoder relies on. What
        comes back is never worse on the training images than what came: of the two the one with the lower loss.
        Centroids come back ascending and distinct; those that met are one. Without shared values, or without
        epochs, only the weights are brought in line with ``symbols``.

        Args:
            weights: names, types and the tensors that are not compressible; w_net is taken from ``symbols``.
            symbols: mask, labels and centroids of w_net.
            stage: what to do; its ``keep`` is not read, the mask is that of ``symbols``.
            on_fraction: as in ``train``.

        Raises: as ``train``; a training that diverges is no error here, what came is returned.

        """
        weights = self._remeasured(weights.with_vector(symbols.vector()), stage)
        untouched = symbols.labels is None or not len(symbols.labels)
        if untouched or stage.training.epochs == 0 or (stage.fixed and not self._others(weights)):
            return weights, symbols
        with numerics(), memory_errors():
            try:
                tuned, moved = self._tune(weights, symbols, stage, on_fraction)
                trained = self._remeasured(tuned, stage)
                better = self._train_loss(trained, stage) < self._train_loss(weights, stage)
            except TrainingError as error:
                if error.code not in ("diverged", "not_finite"):
                    raise
                self.observer.log(f"{stage.name}: diverged, the net stays as it was")
                return weights, symbols
        if not better:
            self.observer.log(f"{stage.name}: no better on the training images, the net stays as it was")
        return (trained, moved) if better else (weights, symbols)

    def evaluate(self, weights: Weights) -> Evaluation:
        """Accuracy in percent and mean loss on the test images, in float32.

        Raises: as ``train``; TrainingError (``not_finite``) where an output is infinite or no number.
        """
        with numerics(), memory_errors():
            return evaluate.evaluate(self._module(weights), self._images[1], self._wide_batch, self.observer)

    def with_batch_norm_measured(self, weights: Weights) -> Weights:
        """The same weights with batch norm's running statistics measured anew on training images.

        Raises: as ``train``, but for ``diverged``.
        """
        with numerics(), memory_errors():
            module = self._module(weights)
            if not reestimate(module, self._images[0], self._batch_size, self.observer):
                return weights
            measured = convert.from_module(module, weights)
        fixed = {name: weights[name].data for name in weights.compressible}
        return measured.with_arrays(fixed)

    def with_batch_norm_merged(self, weights: Weights) -> Weights:
        """The same function with batch norm's statistics merged into its scale and shift."""
        return merged(weights, self._module(weights))

    def _remeasured(self, weights: Weights, stage: Stage) -> Weights:
        return self.with_batch_norm_measured(weights) if stage.remeasure else weights

    def _tune(
        self, weights: Weights, symbols: Symbols, stage: Stage, on_fraction: OnFraction
    ) -> tuple[Weights, Symbols]:
        module = self._module(weights)
        tensors = _tensors(module, weights)
        shared = None if stage.fixed else Shared(tensors, symbols)
        loop = self._loop(module, weights, stage, shared or Fixed(tensors))
        loop.run(stage.identity(self._identity, weights.digest(), _digest(symbols)), on_fraction)
        moved = sorted_symbols(symbols, shared.centroids()) if shared else symbols
        return convert.from_module(module, weights).with_vector(moved.vector()), moved

    def _others(self, weights: Weights) -> list[nn.Parameter]:
        """What is trained where the compressible weights stay."""
        module = self._module(weights)
        return Fixed(_tensors(module, weights)).parameters(module)

    def _pinning(self, module: nn.Module, weights: Weights, stage: Stage) -> Free:
        """What ties the weights down in ``stage``."""
        tensors, rise = _tensors(module, weights), stage.rise
        if not tensors:
            return Free()
        if rise is None:
            return Free() if stage.keep is None else Pinned(tensors, stage.keep)
        measure = partial(self._curvature, module, weights) if needs_curvature(rise.pruner) else None
        return Growing(tensors, rise.masks(weights), rise.gradual, measure)

    def _curvature(self, module: nn.Module, weights: Weights) -> Curvature:
        parts = fisher_diagonal(module, _tensors(module, weights), self._images[0], self.observer)
        found: Curvature = torch.cat([part.reshape(-1) for part in parts]).cpu().numpy() if parts else np.zeros(0)
        return found

    def _loop(self, module: nn.Module, weights: Weights, stage: Stage, pinning: Free) -> Loop:
        parameters = dict(module.named_parameters(remove_duplicate=False))
        trained = {name: parameters[name] for name in weights.compressible if name in parameters}
        method = AppliedMethod(stage, module, trained)
        steps = self._steps(module, method, stage)
        return Loop(module, trained, self._images[0], stage, self.observer, pinning, method, self._task(stage), steps)

    def _steps(self, module: nn.Module, method: AppliedMethod, stage: Stage) -> Steps:
        if not (self.replay and method.recordable and self._device.type == "cuda"):
            return Steps()
        parameters = (*module.parameters(), *method.parameters())
        return Replayed(Graphs(self._device), parameters, lambda text: self.observer.log(f"{stage.name}: {text}"))

    def _train_loss(self, weights: Weights, stage: Stage) -> float:
        task = self._task(stage)
        return evaluate.mean_loss(self._module(weights), self._images[0], self._wide_batch, self.observer, task)

    def _task(self, stage: Stage) -> Task:
        given = stage.distillation
        return Task() if given is None else Distilled(self._module(given.teacher), given.settings)

    @property
    def _batch_size(self) -> int:
        """Images at once where batch norm is measured."""
        return min(max(self.training.batch_size, 32), 256)

    @property
    def _wide_batch(self) -> int:
        """Images at once in evaluation: on a GPU more, since a small net waits for launches there."""
        return self._batch_size * (4 if self._device.type == "cuda" else 1)

    def _module(self, weights: Weights) -> nn.Module:
        shape, classes = self.dataset.input_shape, self.dataset.classes
        module = convert.to_module(self.architecture, shape, classes, weights)
        return laid_out(module, self._device, self.training.precision)

    @cached_property
    def _device(self) -> torch.device:
        return choose_device(self.training.device)

    @cached_property
    def _images(self) -> tuple[batches.Images, batches.Images]:
        return batches.load(self.dataset, self.preprocess or Preprocess(), self._device)

    @cached_property
    def _identity(self) -> str:
        """Digest of architecture, scaling and training images."""
        settings = (self.architecture.model_dump_json(), (self.preprocess or Preprocess()).model_dump_json())
        images = arrays.digest((self.dataset.x_train, self.dataset.y_train))
        return hashlib.sha256(repr((*settings, images)).encode()).hexdigest()


def _masked(weights: Weights, stage: Stage) -> Weights:
    """``weights`` with the entries that the stage prunes at exactly +0."""
    vector = weights.vector()
    vector[~stage.keep] = 0  # type: ignore[operator]
    return weights.with_vector(vector)


def _tensors(module: nn.Module, weights: Weights) -> list[Tensor]:
    """The module's compressible tensors in order of w_net: parameters, and buffers where a user chose some."""
    state = module.state_dict(keep_vars=True)
    return [state[name] for name in weights.compressible]


def _digest(symbols: Symbols) -> str:
    labels = [] if symbols.labels is None else [symbols.labels]
    values = arrays.digest([np.packbits(symbols.keep), *labels, symbols.centroids])
    return hashlib.sha256(repr((values, symbols.local)).encode()).hexdigest()
