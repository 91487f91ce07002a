"""The net as the pipeline sees it where there is a data set: it can be trained, tuned and evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cnet.data import Dataset
from cnet.errors import TrainingError
from cnet.models.match import check_match
from cnet.observer import Observer
from cnet.pipeline.plan import TrainingPlan
from cnet.prune import Curvature, Pruner
from cnet.quantize import Quantizer
from cnet.spec import Preprocess
from cnet.symbols import Symbols
from cnet.training.stage import Distillation, GradualPruning, TrainingStage
from cnet.weights import Selection, Weights

if TYPE_CHECKING:
    from cnet.training.config import Training
    from cnet.training.trainer import Trainer

OnFraction = Callable[[float], None]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """One training on its way.

    Attributes:
        state: where it saves what it can be resumed from.
        on_fraction: told the done fraction, 0..1.
        teacher: the net to learn from, where there is one.
    """

    state: Path
    on_fraction: OnFraction
    teacher: Weights | None = None


class TrainableNetwork:
    """A net with a data set. Making one imports torch.

    Raises:
        TrainingError: (``torch_missing``) PyTorch is not installed.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        dataset: Dataset,
        preprocess: Preprocess | None,
        selection: Selection,
        observer: Observer,
    ) -> None:
        self._plan = plan
        self._dataset = dataset
        self._trainer = _trainer(plan, dataset, preprocess, selection, observer)

    def check(self, weights: Weights) -> None:
        """Raise where tensors or labels do not fit the architecture (see ``check_match``)."""
        shapes = {tensor.name: tensor.shape for tensor in weights}
        check_match(self._plan.architecture, self._dataset.input_shape, self._dataset.classes, shapes)

    @property
    def test_images(self) -> int:
        """How many images accuracies are measured on."""
        return len(self._dataset.y_test)

    def initial(self, state: Path, on_fraction: OnFraction) -> Weights:
        """A baseline: random weights, trained with the task loss alone."""
        fresh = self._trainer.initial(self._plan.baseline.seed)
        stage = TrainingStage("baseline", self._plan.baseline, state_file=state)
        return self._trainer.train(fresh, stage, on_fraction)

    def finetune(self, weights: Weights, state: Path, on_fraction: OnFraction) -> Weights:
        """Weights fine-tuned with the penalty of the job's method."""
        stage = TrainingStage("finetune", self._plan.finetune, method=self._plan.method, state_file=state)
        return self._trainer.train(weights, stage, on_fraction)

    def curvature(self, weights: Weights) -> Curvature:
        """What the pruner obd needs, and a quantizer that is sensitive to it."""
        return self._trainer.curvature(weights)

    @property
    def learns_from_teacher(self) -> bool:
        """Whether pruning and recovery learn from the original net too."""
        return self._plan.options.distill is not None

    def prune_gradually(self, weights: Weights, pruner: Pruner, sparsity: float, run: TrainingRun) -> Weights:
        """Training with the method's penalty, as strong as at the end of the fine-tuning, while sparsity rises.

        Args:
            weights: where to start.
            pruner: its ``gradual`` is set.
            sparsity: the final one.
            run: where the state is kept, who is told the done fraction, and the teacher.
        """
        plan = self._plan
        stage = self._stage("prune", plan.gradual, run)
        pruning, epochs = GradualPruning(pruner, sparsity), plan.finetune.epochs
        stage = replace(stage, method=plan.method, gradual_pruning=pruning, method_frozen_at=epochs)
        return self._trainer.train(weights, stage, run.on_fraction)

    def recover(self, weights: Weights, keep: Mask, run: TrainingRun) -> Weights:
        """Weights trained with the task loss. Those outside ``keep``, bool, shape (n,), stay zero.

        The statistics of batch norm are measured again afterwards, where the job asks for it.
        """
        stage = replace(self._stage("recover", self._plan.recover, run), mask=keep)
        return self._trainer.train(weights, stage, run.on_fraction)

    def tune_centroids(
        self, weights: Weights, symbols: Symbols, run: TrainingRun, quantizer: Quantizer
    ) -> tuple[Weights, Symbols]:
        """Fine-tuning of centroids, biases and batch norm while labels stay; then batch norm is measured anew.

        Where the centroids are the grid of ``quantizer``, they stay too. Batch norm is merged where asked for.
        """
        if symbols.labels is not None:
            stage = self._stage("centroids", self._plan.centroids, run)
            stage = replace(stage, freeze_centroids=not quantizer.trains_centroids)
            weights, symbols = self._trainer.train_centroids(weights, symbols, stage, run.on_fraction)
        if self._plan.options.merge_batch_norm:
            weights = self._trainer.with_batch_norm_merged(weights)
        return weights, symbols

    def _stage(self, name: str, training: Training, run: TrainingRun) -> TrainingStage:
        options = self._plan.options
        settings = options.distill
        taught = None if settings is None or run.teacher is None else Distillation(run.teacher, settings)
        measure = options.reestimate_batch_norm
        return TrainingStage(name, training, state_file=run.state, distillation=taught, remeasure_batch_norm=measure)

    def evaluate(self, weights: Weights) -> tuple[float, float]:
        """Accuracy in percent and loss, measured on the test images."""
        evaluation = self._trainer.evaluate(weights)
        return evaluation.accuracy, evaluation.loss


def evaluate(net: TrainableNetwork | None, weights: Weights) -> tuple[float | None, float | None]:
    """Accuracy in percent and loss on the test images; None twice where there is no data set."""
    return net.evaluate(weights) if net else (None, None)


def _trainer(
    plan: TrainingPlan,
    dataset: Dataset,
    preprocess: Preprocess | None,
    selection: Selection,
    observer: Observer,
) -> Trainer:
    try:
        from cnet.training.networks.architectures import ArchitectureBuilder
        from cnet.training.trainer import Trainer
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TrainingError(
            "training and evaluation need PyTorch: install cnet with the extra 'train'", code="torch_missing"
        ) from error
    network = ArchitectureBuilder.for_dataset(plan.architecture, dataset)
    return Trainer(network, dataset, plan.finetune, preprocess, selection, observer)
