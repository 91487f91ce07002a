"""The net as the pipeline sees it where there is a data set: it can be trained, tuned and evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cnet.errors import TrainingError
from cnet.observer import Observer
from cnet.pipeline.plan import TrainingPlan
from cnet.prune import Curvature, Pruner
from cnet.spec import Preprocess
from cnet.symbols import Symbols
from cnet.training.datasets import Dataset
from cnet.training.match import check_match
from cnet.weights import Selection, Weights

if TYPE_CHECKING:
    from cnet.training.trainer import Trainer

OnFraction = Callable[[float], None]
Mask = npt.NDArray[np.bool_]


class Net:
    """A net with a data set. Making one imports torch. ``state`` is where a training saves what it can resume from.

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

    def initial(self, state: Path, on_fraction: OnFraction) -> Weights:
        """Random weights, trained with the task loss alone."""
        from cnet.training.trainer import Stage

        fresh = self._trainer.initial(self._plan.baseline.seed)
        stage = Stage("baseline", self._plan.baseline, method=None, keep=None, state=state)
        return self._trainer.train(fresh, stage, on_fraction)

    def finetune(self, weights: Weights, state: Path, on_fraction: OnFraction) -> Weights:
        """Fine-tuning with the method's penalty."""
        from cnet.training.trainer import Stage

        stage = Stage("finetune", self._plan.finetune, method=self._plan.method, keep=None, state=state)
        return self._trainer.train(weights, stage, on_fraction)

    def curvature(self, weights: Weights) -> Curvature:
        """What the pruner obd needs."""
        return self._trainer.curvature(weights)

    def prune_gradually(
        self, weights: Weights, pruner: Pruner, request: tuple[float, Curvature | None], run: tuple[Path, OnFraction]
    ) -> Weights:
        """Training with the method's penalty, as strong as at the end of the fine-tuning, while sparsity rises.

        Args:
            weights: where to start.
            pruner: its ``gradual`` is set.
            request: the final sparsity, and the curvature at ``weights`` where the pruner needs it.
            run: where the state is kept, and who is told the done fraction.
        """
        from cnet.training.gradual import Rise
        from cnet.training.trainer import Stage

        plan = self._plan
        state, on_fraction = run
        rise = Rise(pruner, *request)
        stage = Stage("prune", plan.gradual, plan.method, state=state, rise=rise, held=plan.finetune.epochs)
        return self._trainer.train(weights, stage, on_fraction)

    def recover(self, weights: Weights, keep: Mask, state: Path, on_fraction: OnFraction) -> Weights:
        """Fine-tuning with the task loss; weights outside ``keep`` stay zero."""
        from cnet.training.trainer import Stage

        stage = Stage("recover", self._plan.recover, method=None, keep=keep, state=state)
        return self._trainer.train(weights, stage, on_fraction)

    def tune_centroids(
        self, weights: Weights, symbols: Symbols, state: Path, on_fraction: OnFraction
    ) -> tuple[Weights, Symbols]:
        """Fine-tuning of the centroids; labels stay."""
        from cnet.training.trainer import Stage

        if symbols.labels is None:
            return weights, symbols
        stage = Stage("centroids", self._plan.centroids, method=None, keep=symbols.keep, state=state)
        return self._trainer.train_centroids(weights, symbols, stage, on_fraction)

    def evaluate(self, weights: Weights) -> tuple[float, float]:
        """Accuracy in percent and loss, measured on the test images."""
        evaluation = self._trainer.evaluate(weights)
        return evaluation.accuracy, evaluation.loss


def evaluate(net: Net | None, weights: Weights) -> tuple[float | None, float | None]:
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
        from cnet.training.trainer import Trainer
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TrainingError(
            "training and evaluation need PyTorch: install cnet with the extra 'train'", code="torch_missing"
        ) from error
    return Trainer(plan.architecture, dataset, plan.finetune, preprocess, selection, observer)
