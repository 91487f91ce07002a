"""The training loop: epochs of batches, saved after each epoch, stopped on request."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from cnet.errors import TrainingError
from cnet.methods.losses.compressibility import compressibility
from cnet.observer import Observer, check_stop
from cnet.training.applied_method import AppliedMethod
from cnet.training.batches import batch_count, epoch_generator, random_batches
from cnet.training.constraints import WeightConstraint
from cnet.training.cuda_graphs import StepRunner
from cnet.training.device import seeded_random
from cnet.training.device_splits import DeviceSplit, Inputs
from cnet.training.objectives import Objective
from cnet.training.optimizers import FusedOptimizer, learning_rate, make_optimizer
from cnet.training.saved_state import SavedState, load_state, save_state
from cnet.training.stage import TrainingStage

OnFraction = Callable[[float], None]
_FINITE_CHECK_INTERVAL = 64  # in batches; each check waits for the device


@dataclass(frozen=True, eq=False)
class TrainingLoop:
    """Trains one module for one stage.

    Attributes:
        module: the network, float32, on the device; changed in place.
        split: the training split.
        stage: what to do.
        observer: receives each epoch, and is asked before each batch whether to stop.
        constraint: restricts how the weights move.
        method: the stage's method, applied to the module.
        objective: what the network learns.
        run_step: runs the forward and the backward pass of a step on the device.

    """

    module: nn.Module
    split: DeviceSplit
    stage: TrainingStage
    observer: Observer
    constraint: WeightConstraint
    method: AppliedMethod
    objective: Objective
    run_step: StepRunner

    def run(self, identity: str, on_fraction: OnFraction) -> None:
        """Run all epochs that are not done yet.

        Args:
            identity: digest that a saved state must carry to be resumed from.
            on_fraction: told after each batch the done part of the stage, 0..1, rising.

        Raises:
            TrainingError: (``diverged``) the loss is infinite or NaN.
            StoppedError: the observer asks to stop; the stage can be resumed from its state file.

        """
        file = self.stage.state_file
        for epoch in range(self._resume(identity), self.stage.training.epochs):
            source = epoch_generator(self.stage.training.seed, f"{self.stage.name}/dropout", epoch)
            try:
                with seeded_random(source, self.split.device):
                    self._run_epoch(epoch, on_fraction)
            finally:
                self.run_step.end_epoch()
            if file is not None:
                save_state(file, identity, self._state(epoch + 1))
        self.constraint.advance(1.0)
        self.method.fold()
        on_fraction(1.0)

    def try_steps(self, count: int) -> None:
        """Train so many steps from the first epoch on; nothing is reported, checked or saved."""
        training, done = self.stage.training, 0
        with seeded_random(epoch_generator(training.seed, f"{self.stage.name}/dropout", 0), self.split.device):
            while done < count:
                self.begin_epoch(0)
                generator = epoch_generator(training.seed, self.stage.name, done)
                for inputs, targets in random_batches(self.split, training.batch_size, training.augment, generator):
                    check_stop(self.observer)
                    self.step(inputs, targets)
                    done += 1
                    if done == count:
                        break
                self.run_step.end_epoch()

    def begin_epoch(self, epoch: int) -> EpochTotals:
        """Prepare for the steps of an epoch, counted from 0; return the totals that the steps add to."""
        totals = EpochTotals(self.split.device)
        self.run_step.begin_epoch(partial(self._compute_gradients, totals))
        self.method.begin_epoch(epoch)
        self.constraint.begin_epoch()
        self.module.train()
        return totals

    def step(self, inputs: Inputs, targets: Tensor) -> None:
        """Train on one batch.

        Args:
            inputs: what the network takes in, scaled, each of shape (batch, ...).
            targets: shape (batch, ...).

        """
        self.run_step(inputs, targets)
        self.constraint.before_step()
        self._optimizer.step()
        self.method.after_step()
        self.constraint.after_step()

    @cached_property
    def _optimizer(self) -> FusedOptimizer:
        config = self.stage.training.optimizer
        return make_optimizer(config, self.constraint.parameters(self.module), self.method.parameters())

    def _resume(self, identity: str) -> int:
        """Restore a saved state, if there is one of this training; return the number of epochs done."""
        file = self.stage.state_file
        state = None if file is None else load_state(file, identity, self._log)
        if state is None:
            return 0
        self.module.load_state_dict(state.module)
        self._optimizer.load_state_dict(state.optimizer)
        self.constraint.load_state_dict(state.constraint)
        self.method.load_state_dict(state.method)
        self._log(f"resumes after epoch {state.epochs} of {self.stage.training.epochs}")
        return state.epochs

    def _state(self, epochs: int) -> SavedState:
        module, optimizer = dict(self.module.state_dict()), self._optimizer.state_dict()
        return SavedState(epochs, module, optimizer, self.constraint.state_dict(), self.method.state_dict())

    def _log(self, message: str) -> None:
        self.observer.log(f"{self.stage.name}: {message}")

    def _run_epoch(self, epoch: int, on_fraction: OnFraction) -> None:
        training = self.stage.training
        count = batch_count(self.split, training.batch_size)
        totals = self.begin_epoch(epoch)
        generator = epoch_generator(training.seed, self.stage.name, epoch)
        batches = random_batches(self.split, training.batch_size, training.augment, generator)
        for index, (inputs, targets) in enumerate(batches):
            check_stop(self.observer)
            self._optimizer.rate = learning_rate(training, epoch, index / count)
            self.method.advance(index / count)
            self.constraint.advance((epoch + index / count) / training.epochs)
            self.step(inputs, targets)
            if index % _FINITE_CHECK_INTERVAL == _FINITE_CHECK_INTERVAL - 1:
                self._check_finite(epoch, totals.loss)
            on_fraction((epoch + (index + 1) / count) / training.epochs)
        self._check_finite(epoch, totals.loss, *self._largest_magnitudes())
        self._report(epoch, totals)

    def _compute_gradients(self, totals: EpochTotals, inputs: Inputs, targets: Tensor) -> None:
        half = self.stage.training.precision == "bfloat16"
        with torch.autocast(targets.device.type, torch.bfloat16, enabled=half):
            outputs = self.method.forward(inputs)
        task_loss = self.objective.loss(inputs, outputs.float(), targets)
        self._optimizer.clear_gradients()
        loss = self.method.backward(task_loss)
        totals.add(loss, len(targets), self.objective.task.training_total(outputs.detach(), targets))

    def _largest_magnitudes(self) -> list[Tensor]:
        """The largest magnitude in each tensor of the module, a scalar that is finite only where the tensor is."""
        tensors = [value for value in self.module.state_dict().values() if value.is_floating_point()]
        return list(torch._foreach_norm(tensors, math.inf))

    def _check_finite(self, epoch: int, *numbers: Tensor) -> None:
        if not torch.stack([number.float() for number in numbers]).isfinite().all().item():
            raise TrainingError(
                f"{self.stage.name}: the training diverged in epoch {epoch + 1}, its loss is infinite or NaN. "
                f"Use a lower learning_rate, a lower lambda, or a schedule with warmup_epochs.",
                code="diverged",
            )

    def _report(self, epoch: int, totals: EpochTotals) -> None:
        loss, score = totals.means()
        values = {
            "phase": self.stage.name,
            "epoch": epoch + 1,
            "epochs": self.stage.training.epochs,
            "loss": loss,
        }
        if self.objective.task.training_metric is not None:
            values[self.objective.task.training_metric] = score
        strength = self.method.strength()
        if strength is not None:
            values["lambda"] = strength
        if self.method.weights:
            with torch.no_grad():
                values["compressibility"] = compressibility(tuple(self.method.weights.values())).item()
        self.observer.metric(values)


class EpochTotals:
    """Sums over the batches of an epoch that stay on the device, since a replayed step runs no Python.

    Args:
        device: where the batches are.

    """

    def __init__(self, device: torch.device) -> None:
        self.loss = torch.zeros((), dtype=torch.float64, device=device)
        self._score = torch.zeros((), dtype=torch.float64, device=device)
        self._samples = torch.zeros((), dtype=torch.int64, device=device)

    def add(self, loss: Tensor, samples: int, score: Tensor | None) -> None:
        """Add one batch.

        Args:
            loss: mean loss of the batch, shape (), without graph.
            samples: number of samples of the batch.
            score: the task's ``training_total`` of the batch, shape (); None: the task has none.

        """
        self.loss += loss * samples
        self._samples += samples
        if score is not None:
            self._score += score

    def means(self) -> tuple[float, float]:
        """Mean loss, and mean score times 100, over the samples of an epoch."""
        samples = max(int(self._samples.item()), 1)
        return self.loss.item() / samples, 100 * self._score.item() / samples
