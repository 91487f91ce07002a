"""The parts of a job with all defaults and computed numbers filled in, as the pipeline needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from cnet.coding import Encoder
from cnet.data import Dataset
from cnet.data.normalization import input_statistics
from cnet.methods import Method
from cnet.models import Architecture
from cnet.pipeline.inputs import RunObserver
from cnet.prune import Pruner
from cnet.spec import JobSpec, ProgramArchitecture
from cnet.training.config import InputScaling, Preprocess, Recover, Schedule, Training
from cnet.transform import Transform
from cnet.weights import Selection


@dataclass(frozen=True)
class CompressionPlan:
    """The parts that every job has.

    Attributes:
        pruner, encoder, transform: those of the job; no transform by default.
        selection: which tensors are compressible.
        method: the training method of a job without a data set, applied to the weights alone; None where there is none.
    """

    pruner: Pruner
    encoder: Encoder
    selection: Selection
    method: Method | None = None
    transform: Transform | None = None

    @classmethod
    def of(cls, spec: JobSpec) -> CompressionPlan:
        """The parts of ``spec`` with all defaults filled in."""
        resolved = spec.resolved()
        return cls(
            pruner=cast(Pruner, resolved.prune),
            encoder=cast(Encoder, resolved.encode),
            selection=resolved.compressible.selection() if resolved.compressible else Selection(),
            method=None if resolved.trains else resolved.method,
            transform=resolved.transform,
        )


@dataclass(frozen=True)
class TrainingPlan:
    """The parts of a job with a data set, its trainings in their order.

    The recovery and the training of the centroids start at the learning rate of ``finetune``, unless the job names
    another, and fall to zero along a cosine: the schedule of the fine-tuning is made for another number of epochs.
    Gradual pruning keeps the learning rate of ``finetune``; it has no epochs where pruning is not gradual.
    """

    architecture: Architecture | ProgramArchitecture
    method: Method
    baseline: Training
    finetune: Training
    gradual: Training
    recover: Training
    centroids: Training
    options: Recover

    @property
    def rate_is_open(self) -> bool:
        """Whether the job leaves the learning rate after the baseline open, and trains at all."""
        trainings = (self.finetune, self.gradual, self.recover)
        return self.finetune.optimizer.learning_rate is None and any(training.epochs for training in trainings)

    def at_rate(self, rate: float) -> TrainingPlan:
        """A plan with this learning rate in all trainings after the baseline that leave it open."""

        def filled(training: Training) -> Training:
            return _at_rate(training, rate) if training.optimizer.learning_rate is None else training

        finetune, gradual = filled(self.finetune), filled(self.gradual)
        return replace(
            self, finetune=finetune, gradual=gradual, recover=filled(self.recover), centroids=filled(self.centroids)
        )

    @classmethod
    def of(cls, spec: JobSpec) -> TrainingPlan | None:
        """The parts of ``spec`` with all defaults filled in; None where nothing is trained."""
        if not spec.trains:
            return None
        resolved = spec.resolved()
        training = cast(Training, resolved.training)
        recover = cast(Recover, resolved.recover)
        gradual = cast(Pruner, resolved.prune).gradual_epochs
        return cls(
            architecture=cast(Architecture | ProgramArchitecture, resolved.architecture),
            method=cast(Method, resolved.method),
            baseline=resolved.baseline.over(training) if resolved.baseline else training,
            finetune=training,
            gradual=training.model_copy(update={"epochs": gradual, "schedule": Schedule()}),
            recover=_after(training, recover, recover.epochs),
            centroids=_after(training, recover, recover.centroid_epochs),
            options=recover,
        )


def _after(training: Training, recover: Recover, epochs: int) -> Training:
    """A training after pruning: that of the job with other epochs, its learning rate falling along a cosine."""
    after = training.model_copy(update={"epochs": epochs, "schedule": Schedule(name="cosine")})
    return after if recover.learning_rate is None else _at_rate(after, recover.learning_rate)


def _at_rate(training: Training, rate: float) -> Training:
    return training.model_copy(update={"optimizer": training.optimizer.model_copy(update={"learning_rate": rate})})


def with_computed_scaling(spec: JobSpec, dataset: Dataset | None, observer: RunObserver) -> JobSpec:
    """The spec with the numbers in place of ``preprocess.normalize``; unchanged where it does not ask for them.

    Args:
        spec: the job.
        dataset: whose training split is measured, once the validation split was set apart.
        observer: its log gets the numbers.
    """
    if dataset is None or spec.preprocess is None or spec.preprocess.normalize is None:
        return spec
    found = {name: InputScaling(mean=mean, std=std) for name, (mean, std) in input_statistics(dataset.train).items()}
    for name, scaling in found.items():
        observer.log(f"input {name} is normalized by mean {_listed(scaling.mean)} and std {_listed(scaling.std)}")
    return spec.model_copy(update={"preprocess": Preprocess(inputs=found)})


def _listed(numbers: tuple[float, ...], most: int = 4) -> str:
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return ", ".join(f"{number:g}" for number in numbers[:most]) + more
