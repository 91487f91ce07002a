"""A job's parts with nothing left open: the resolved spec as the pipeline needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cnet.coding import Encoder
from cnet.methods import Method
from cnet.models import Architecture
from cnet.prune import Pruner
from cnet.spec import JobSpec
from cnet.training.config import Recover, Schedule, Training
from cnet.transform import Transform
from cnet.weights import Selection


@dataclass(frozen=True)
class CompressionPlan:
    """The parts that every job has; ``method`` is one that works on weights alone, where there is no data set."""

    pruner: Pruner
    encoder: Encoder
    selection: Selection
    method: Method | None = None
    transform: Transform | None = None

    @classmethod
    def of(cls, spec: JobSpec) -> CompressionPlan:
        """The parts of ``spec``, defaults filled in."""
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
    """The parts that a job has only where it trains; the trainings in the order in which they come.

    Recovery and the fine-tuning of centroids start at training's rate, unless said otherwise, and fall to zero along
    a cosine: the schedule of the fine-tuning is written for its epochs, which are others. A gradual pruning stays at
    training's rate; without one it has no epochs.
    """

    architecture: Architecture
    method: Method
    baseline: Training
    finetune: Training
    gradual: Training
    recover: Training
    centroids: Training
    options: Recover

    @classmethod
    def of(cls, spec: JobSpec) -> TrainingPlan | None:
        """The parts of ``spec``, defaults filled in; None where nothing is trained."""
        if not spec.trains:
            return None
        resolved = spec.resolved()
        training = cast(Training, resolved.training)
        recover = cast(Recover, resolved.recover)
        gradual = cast(Pruner, resolved.prune).gradual_epochs
        return cls(
            architecture=cast(Architecture, resolved.architecture),
            method=cast(Method, resolved.method),
            baseline=resolved.baseline.over(training) if resolved.baseline else training,
            finetune=training,
            gradual=training.model_copy(update={"epochs": gradual, "schedule": Schedule()}),
            recover=_after(training, recover, recover.epochs),
            centroids=_after(training, recover, recover.centroid_epochs),
            options=recover,
        )


def _after(training: Training, recover: Recover, epochs: int) -> Training:
    rate = recover.learning_rate or training.optimizer.learning_rate
    optimizer = training.optimizer.model_copy(update={"learning_rate": rate})
    return training.model_copy(update={"epochs": epochs, "optimizer": optimizer, "schedule": Schedule(name="cosine")})
