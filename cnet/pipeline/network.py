"""A network with its data set, which the pipeline trains and evaluates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from cnet.data import Dataset
from cnet.errors import TrainingError
from cnet.models import Architecture
from cnet.models.match import check_match
from cnet.models.programs import StoredProgram
from cnet.models.programs.outputs import choose_output
from cnet.observer import Observer
from cnet.pipeline.plan import TrainingPlan
from cnet.prune import Curvature, Pruner
from cnet.quantize import Quantizer
from cnet.results.measurements import Scores
from cnet.spec import Preprocess, ProgramArchitecture
from cnet.symbols import Symbols
from cnet.training.stage import Distillation, GradualPruning, TrainingStage
from cnet.weights import Selection, Weights

if TYPE_CHECKING:
    from torch import Tensor

    from cnet.training.config import Training
    from cnet.training.networks.builder import NetworkBuilder
    from cnet.training.rate_trial import RateTrial
    from cnet.training.trainer import Trainer

OnFraction = Callable[[float], None]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NetworkSource:
    """The origin of a network: its program and its original weights.

    Attributes:
        program: of a user's own network; None for a built-in architecture.
        weights: of the original network; None where a baseline is trained first.
    """

    program: StoredProgram | None = None
    weights: Weights | None = None


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """What one training needs beside the weights.

    Attributes:
        state: the file in which it saves its state, from which it can be resumed.
        on_fraction: called with the fraction, 0..1, of the training that is done.
        teacher: the network to learn from; None where the job asks for no distillation.
    """

    state: Path
    on_fraction: OnFraction
    teacher: Weights | None = None


class TrainableNetwork:
    """A network with a data set. Making one imports PyTorch.

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
        source: NetworkSource = NetworkSource(),
    ) -> None:
        self._plan = plan
        self._dataset = dataset
        self._source = source
        self._made = _trainer(plan, dataset, preprocess, selection, observer, source.program)
        self._evaluated = [name for name in ("test", "validation") if name in dataset.splits]
        self._original_outputs: dict[str, Tensor] = {}

    @cached_property
    def _trainer(self) -> Trainer:
        """The trainer; it learns from the original network where the task asks for it."""
        original = self._source.weights
        if not self._made.task.learns_from_original or original is None:
            return self._made
        return self._made.learning_from(original)

    def check(self, weights: Weights) -> None:
        """Check that tensors, inputs and targets fit the architecture.

        Raises:
            ArchitectureMismatchError, DatasetError: they do not; both are stated.
        """
        shapes = {tensor.name: tensor.shape for tensor in weights}
        architecture = self._plan.architecture
        if isinstance(architecture, ProgramArchitecture):
            self._made.check(shapes)
        else:
            check_match(architecture, self._dataset.input_shape, self._dataset.classes, shapes)

    @property
    def dataset(self) -> Dataset:
        """The samples."""
        return self._dataset

    @property
    def guessed_score(self) -> float | None:
        """The task's metric on the test split of a guess that looks at no input; None for a task without one."""
        targets = self._dataset.test.targets
        return None if targets is None or not targets.size else self._made.task.guessed_score(targets)

    @property
    def choice_split(self) -> str:
        """Name of the split on which choices are made."""
        return "test" if self._dataset.validation is None else "validation"

    def initial(self, state: Path, on_fraction: OnFraction) -> Weights:
        """A baseline: random weights, trained with the task loss alone."""
        fresh = self._trainer.initial(self._plan.baseline.seed)
        stage = TrainingStage("baseline", self._plan.baseline, state_file=state)
        return self._trainer.train(fresh, stage, on_fraction)

    @property
    def rate_is_open(self) -> bool:
        """Whether the job leaves open at which learning rate a given network is trained on."""
        return self._plan.rate_is_open

    def try_rates(self, weights: Weights) -> RateTrial:
        """Find the learning rate for weights that were trained elsewhere, by the first steps of the fine-tuning."""
        from cnet.training.rate_trial import try_rates

        plan = self._plan
        epochs = plan.finetune.epochs + plan.gradual.epochs + plan.recover.epochs
        return try_rates(self._trainer, weights, TrainingStage("finetune", plan.finetune, plan.method), epochs)

    def set_rate(self, rate: float) -> None:
        """Use a learning rate in all trainings for which the job names none."""
        self._plan = self._plan.at_rate(rate)

    def finetune(self, weights: Weights, state: Path, on_fraction: OnFraction) -> Weights:
        """Weights fine-tuned with the penalty of the job's method."""
        stage = TrainingStage("finetune", self._plan.finetune, method=self._plan.method, state_file=state)
        return self._trainer.train(weights, stage, on_fraction)

    def curvature(self, weights: Weights) -> Curvature:
        """Curvature of the loss along each weight of w_net, shape (n,), float64; for parts that use it."""
        return self._trainer.curvature(weights)

    @property
    def learns_from_teacher(self) -> bool:
        """Whether pruning and recovery also learn from the original network."""
        return self._plan.options.distill is not None

    def prune_gradually(self, weights: Weights, pruner: Pruner, sparsity: float, run: TrainingRun) -> Weights:
        """Weights trained while sparsity rises, with the method's penalty as strong as at the end of the fine-tuning.

        Args:
            weights: where to start.
            pruner: its ``gradual`` is set.
            sparsity: the final sparsity, 0..1.
            run: what the training needs beside the weights.
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
        """Centroids, biases and batch norm trained while labels stay.

        The centroids stay too where they are a grid of ``quantizer``. The statistics of batch norm are measured again
        afterwards, and batch norm is merged into the layers before it, where the job asks for it.
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

    def evaluate(self, weights: Weights, original: Weights | None = None) -> Scores:
        """Scores on the splits for test and validation.

        Args:
            weights: of the network to evaluate.
            original: of the network before compression, to compare outputs with; None: no comparison.
        """
        references = dict.fromkeys(self._evaluated, None) | self._reference(original)
        found = self._trainer.evaluate_splits(weights, references)
        metric = self._trainer.task.metric
        validation = found["validation"].scores if "validation" in found else None
        return Scores(metric.name, metric.unit, metric.higher_is_better, found["test"].scores, validation)

    def test_accuracy(self, weights: Weights) -> float | None:
        """Accuracy in percent on the test split; None for a task without it."""
        return self._trainer.evaluate(weights).scores.get("accuracy")

    @property
    def doubt(self) -> str | None:
        """Why the outputs can hardly be what the task takes them for; None where they may be, or are not known yet."""
        known = self._original_outputs.get("test")
        return None if known is None else self._trainer.task.doubt_about(known)

    def _reference(self, original: Weights | None) -> dict[str, Tensor]:
        """The outputs of the original network on both splits, computed once."""
        if original is not None and not self._original_outputs:
            self._original_outputs = self._trainer.outputs(original, self._evaluated)
        return {} if original is None else self._original_outputs


def evaluate(network: TrainableNetwork | None, weights: Weights, original: Weights | None = None) -> Scores | None:
    """Scores of a network (``TrainableNetwork.evaluate``); None where there is no data set."""
    return network.evaluate(weights, original) if network else None


@contextmanager
def needs_torch(what: str) -> Iterator[None]:
    """A block that imports PyTorch. Raises TrainingError (``torch_missing``) where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TrainingError(
            f"{what}: PyTorch is not installed. Install it with: pip install 'cnet[train]'.", code="torch_missing"
        ) from error


def builder_of(
    choice: Architecture | ProgramArchitecture, dataset: Dataset, program: StoredProgram | None, device: str
) -> NetworkBuilder:
    """What builds the network of a job for the inputs of a data set. Imports PyTorch.

    Args:
        choice: the architecture that the job names.
        dataset: its inputs; of a data set without labels a built-in architecture has the classes of its checkpoint.
        program: of a user's own network.
        device: ``auto``, ``cpu`` or ``cuda``.
    """
    from cnet.training.device import choose_device
    from cnet.training.networks.architectures import ArchitectureBuilder
    from cnet.training.programs.builder import ProgramBuilder

    if not isinstance(choice, ProgramArchitecture) or program is None:
        classes = dataset.classes if dataset.has_labels else 1
        return ArchitectureBuilder(cast(Architecture, choice), dataset.input_shape, classes)
    number = choose_output(program.program.outputs, choice.output)
    gives_logits = choice.task.takes_logits_of(program.program.outputs[number])
    return ProgramBuilder(program, number, choose_device(device), gives_logits)


def _trainer(
    plan: TrainingPlan,
    dataset: Dataset,
    preprocess: Preprocess | None,
    selection: Selection,
    observer: Observer,
    program: StoredProgram | None,
) -> Trainer:
    with needs_torch("training"):
        from cnet.training.trainer import Trainer
    choice = plan.architecture
    network = builder_of(choice, dataset, program, plan.finetune.device)
    if not isinstance(choice, ProgramArchitecture):
        return Trainer(network, dataset, plan.finetune, preprocess, selection, observer)
    return Trainer(network, dataset, plan.finetune, preprocess, selection, observer, task=choice.task)
