"""The learning rate with which a given network is trained on: the largest of a few that does it no harm.

A rate at which a network was trained from scratch can destroy one that was trained for long, in a few steps: Adam moves
every weight by about the rate, however small the gradient is, and the penalty of a method always has one. So each rate
is tried for some steps, as the training would take them, and the loss before and after them is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from cnet.training.batches import epoch_generator
from cnet.training.config import DEFAULT_RATE
from cnet.training.device import deterministic_numerics, report_out_of_memory
from cnet.training.device_splits import DeviceSplit
from cnet.training.measurements.evaluation import mean_loss
from cnet.training.objectives import Objective
from cnet.training.stage import TrainingStage
from cnet.weights import Weights

if TYPE_CHECKING:
    from cnet.training.trainer import Trainer

RATES = (DEFAULT_RATE, 0.001, 0.0003, 0.0001, 0.00003)
"""The rates that are tried, from the largest to the smallest."""

STEPS = (8, 32)
"""Fewest and most steps of a trial; between them a twentieth of those that the trainings will take."""

SAMPLES = 512
"""Samples, at most, on which losses are compared."""

HARM = 0.03
"""Largest rise of the loss, as a fraction of how much worse the loss is where targets belong to other samples."""


@dataclass(frozen=True)
class RateTrial:
    """The outcome of the trials.

    Attributes:
        rate: the chosen learning rate.
        before: mean loss of the network.
        after: mean loss after the steps at each rate that was tried, in the order of ``RATES``.
        steps: number of steps of each trial.
    """

    rate: float
    before: float
    after: tuple[float, ...]
    steps: int

    def __str__(self) -> str:
        tried = ", ".join(f"{rate:g}: {loss:.4g}" for rate, loss in zip(RATES, self.after, strict=False))
        return f"learning rate {self.rate:g}; loss {self.before:.4g}, after {self.steps} steps at {tried}"


def try_rates(trainer: Trainer, weights: Weights, stage: TrainingStage, epochs: int) -> RateTrial:
    """Try the rates from the largest to the smallest, up to one that does no harm; the smallest where all do.

    Args:
        trainer: of the network and the data set. Losses are compared on its split for choices.
        weights: where each trial starts.
        stage: the training that a trial begins; its state is neither read nor saved.
        epochs: of all trainings that will have the rate.

    Raises: as ``Trainer.train``; a trial that diverges is one that does harm.
    """
    with deterministic_numerics(), report_out_of_memory():
        network = trainer.load(weights)
        steps = trainer.batch_count(stage.training.batch_size) * epochs // 20
        steps = min(max(steps, STEPS[0]), STEPS[1])
        sample = _sample(trainer.choice_split, stage.training.seed)
        objective = Objective(trainer.task)

        def loss(split: DeviceSplit) -> float:
            return mean_loss(network.module, split, trainer.evaluation_batch_size, trainer.observer, objective)

        before = loss(sample)
        allowed = before + HARM * max(loss(replace(sample, targets=sample.targets.roll(1, 0))) - before, 0.0)
        after: list[float] = []
        for rate in RATES:
            network.load(weights)
            trainer.loop(network, _at_rate(stage, rate)).try_steps(steps)
            after.append(loss(sample))
            if after[-1] <= allowed:
                break
    return RateTrial(rate, before, tuple(after), steps)


def _at_rate(stage: TrainingStage, rate: float) -> TrainingStage:
    optimizer = stage.training.optimizer.model_copy(update={"learning_rate": rate})
    return replace(stage, training=stage.training.model_copy(update={"optimizer": optimizer}), state_file=None)


def _sample(split: DeviceSplit, seed: int) -> DeviceSplit:
    """Some samples of a split, in random order."""
    order = torch.randperm(len(split), generator=epoch_generator(seed, "rate trial", 0))[:SAMPLES].to(split.device)
    return replace(split, inputs=tuple(values[order] for values in split.inputs), targets=split.targets[order])
