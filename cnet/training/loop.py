"""The training loop: epochs of batches, saved after each, stopped on request."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from cnet.errors import TrainingError
from cnet.methods.losses.compressibility import compressibility
from cnet.observer import Observer, check_stop
from cnet.training import state
from cnet.training.applied_method import AppliedMethod
from cnet.training.batches import Images, batch_count, epoch_batches, generator
from cnet.training.optimize import learning_rate, make_optimizer
from cnet.training.recover import Free
from cnet.training.replay import Steps
from cnet.training.stage import Stage
from cnet.training.task import Task

OnFraction = Callable[[float], None]
_LOOK_EVERY = 64  # batches between looks at the loss, each of which waits for the device


@dataclass(frozen=True, eq=False)
class Loop:
    """Trains one module for one stage.

    Attributes:
        module: float32, on the device; changed in place.
        weights: its compressible parameters by name, in order of w_net.
        images: the training split.
        stage: what to do.
        observer: told of each epoch, asked before each batch whether to stop.
        pinning: what ties the weights down.
        method: the stage's method, applied to the module.
        task: what the net is to learn.
        steps: how the work of a step reaches the device.

    """

    module: nn.Module
    weights: Mapping[str, Parameter]
    images: Images
    stage: Stage
    observer: Observer
    pinning: Free
    method: AppliedMethod
    task: Task
    steps: Steps

    def run(self, identity: str, on_fraction: OnFraction) -> None:
        """All epochs that are left.

        Args:
            identity: digest that a saved state has to carry to be taken up.
            on_fraction: told after each batch how much of the stage is done, 0..1, rising.

        Raises:
            TrainingError: (``diverged``) the loss is infinite or no number.
            StoppedError: the observer asks to stop; what the state file holds can be taken up again.

        """
        training, file = self.stage.training, self.stage.state
        optimizer = make_optimizer(training.optimizer, self.pinning.parameters(self.module), self.method.parameters())
        first = self._resume(optimizer, identity)
        for epoch in range(first, training.epochs):
            try:
                self._epoch(optimizer, epoch, on_fraction)
            finally:
                self.steps.end()
            if file is not None:
                state.save(file, identity, self._progress(optimizer, epoch + 1))
        self.pinning.at(1.0)
        self.method.fold()
        on_fraction(1.0)

    def _resume(self, optimizer: torch.optim.Optimizer, identity: str) -> int:
        file = self.stage.state
        progress = None if file is None else state.load(file, identity, self._log)
        if progress is None:
            return 0
        self.module.load_state_dict(progress.module)
        optimizer.load_state_dict(progress.optimizer)
        self.pinning.load_state_dict(progress.pinning)
        self.method.load_state_dict(progress.method)
        self._log(f"resumes after epoch {progress.epochs} of {self.stage.training.epochs}")
        return progress.epochs

    def _progress(self, optimizer: torch.optim.Optimizer, epochs: int) -> state.Progress:
        module, pinning, method = dict(self.module.state_dict()), self.pinning.state_dict(), self.method.state_dict()
        return state.Progress(epochs, module, optimizer.state_dict(), pinning, method)

    def _log(self, message: str) -> None:
        self.observer.log(f"{self.stage.name}: {message}")

    def _epoch(self, optimizer: torch.optim.Optimizer, epoch: int, on_fraction: OnFraction) -> None:
        training = self.stage.training
        random = generator(training.seed, self.stage.name, epoch)
        count = batch_count(len(self.images), training.batch_size)
        tally = Tally(self.images.x.device)
        self.steps.begin(partial(self._gradients, optimizer, tally))
        self.method.begin_epoch(epoch)
        self.pinning.begin()
        self.module.train()
        batches = epoch_batches(self.images, training.batch_size, training.augment, random)
        for index, (x, y) in enumerate(batches):
            check_stop(self.observer)
            _set_rate(optimizer, learning_rate(training, epoch, index / count))
            self.method.advance(index / count)
            self.pinning.at((epoch + index / count) / training.epochs)
            self._step(optimizer, x, y)
            if index % _LOOK_EVERY == _LOOK_EVERY - 1:
                self._check_finite(epoch, tally.total)
            on_fraction((epoch + (index + 1) / count) / training.epochs)
        self._check_finite(epoch, tally.total, *self._totals())
        self._report(epoch, tally)

    def _step(self, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> None:
        self.steps(x, y)
        self.pinning.before_step()
        optimizer.step()
        self.method.after_step()
        self.pinning.after_step()

    def _gradients(self, optimizer: torch.optim.Optimizer, tally: Tally, x: Tensor, y: Tensor) -> None:
        half = self.stage.training.precision == "bfloat16"
        with torch.autocast(x.device.type, torch.bfloat16, enabled=half):
            outputs = self.method.forward(x)
        task = self.task.loss(x, outputs.float(), y)
        optimizer.zero_grad(set_to_none=True)
        tally.add(self.method.backward(task), outputs, y)

    def _totals(self) -> list[Tensor]:
        """Scalars that are finite only where all weights and running statistics are."""
        tensors = [value for value in self.module.state_dict().values() if value.is_floating_point()]
        return list(torch._foreach_norm(tensors, math.inf))

    def _check_finite(self, epoch: int, *numbers: Tensor) -> None:
        if not torch.stack([number.float() for number in numbers]).isfinite().all().item():
            raise TrainingError(
                f"{self.stage.name} diverged in epoch {epoch + 1}: the loss is not finite; use a lower "
                f"learning_rate, a lower λ, or a schedule with warmup_epochs",
                code="diverged",
            )

    def _report(self, epoch: int, tally: Tally) -> None:
        loss, accuracy = tally.means(len(self.images))
        values = {
            "phase": self.stage.name,
            "epoch": epoch + 1,
            "epochs": self.stage.training.epochs,
            "loss": loss,
            "train_accuracy": accuracy,
        }
        strength = self.method.strength()
        if strength is not None:
            values["lambda"] = strength
        if self.weights:
            with torch.no_grad():
                values["compressibility"] = compressibility(tuple(self.weights.values())).item()
        self.observer.metric(values)


class Tally:
    """Sums over an epoch that stay on the device: a replayed step runs no Python that could count."""

    def __init__(self, device: torch.device) -> None:
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._right = torch.zeros((), dtype=torch.int64, device=device)

    def add(self, loss: Tensor, outputs: Tensor, y: Tensor) -> None:
        """Count one batch in; ``loss`` has no graph."""
        self.total += loss * len(y)
        self._right += (outputs.detach().argmax(1) == y).sum()

    def means(self, images: int) -> tuple[float, float]:
        """Mean loss, and accuracy in percent, where so many images were counted in."""
        return self.total.item() / images, 100 * self._right.item() / images


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
