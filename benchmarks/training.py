"""What the compressibility loss costs: time of a training step with it, without it, and written naively.

    python benchmarks/training.py [--architecture resnet32] [--batch-size 128] [--rounds 20] [--precision bfloat16]

All variants take turns in one process, step by step, each on a net of its own, so that whatever else the machine does
hits them alike; what is reported is the median of each, and the median over the rounds of the quotient with the plain
step of the same round. Before anything is timed, value and gradient of the naive form are held against the product's.
Steps are those of the product's own loop, with its optimizer, its checks and its counting. Images are random, of
CIFAR-10's shape.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import torch

from cnet.methods import METHODS, Method, Moment
from cnet.training.architectures import ARCHITECTURES
from cnet.training.batches import Images
from cnet.training.config import Optimizer, Training
from cnet.training.datasets import Dataset
from cnet.training.device import numerics
from cnet.training.loop import Loop, Tally
from cnet.training.optimize import make_optimizer
from cnet.training.recover import Free
from cnet.training.stage import Stage
from cnet.training.trainer import Trainer

LAMBDA = 0.045


class Concatenated(Method):
    """The loss as one would write it first: all weights copied into one vector, and autograd for the rest."""

    name: Literal["concatenated"] = "concatenated"

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> torch.Tensor | None:
        """λ ‖w‖₁/‖w‖₂ of the concatenation."""
        del moment
        vector = torch.cat([weight.reshape(-1) for weight in weights.values()])
        loss: torch.Tensor = LAMBDA * vector.norm(1) / vector.norm(2)
        return loss


VARIANTS: dict[str, Method | None] = {
    "plain": None,
    "cnet": METHODS.create("cnet", lambda_=LAMBDA),
    "concatenated": Concatenated(),
}


class Stepper:
    """One net under training, ready to take a step."""

    def __init__(self, trainer: Trainer, method: Method | None, *, compiled: bool) -> None:
        weights = trainer.initial(0)
        module = trainer._module(weights)
        stage = Stage("benchmark", trainer.training, method)
        self.loop: Loop = trainer._loop(module, weights, stage, Free())
        if compiled:
            module.compile()
        self.loop.hooks.begin(0)
        self._optimizer = make_optimizer(trainer.training.optimizer, module.parameters())
        self._tally = Tally(self.images.x.device)
        module.train()

    @property
    def images(self) -> Images:
        """The training images, on the device."""
        return self.loop.images

    def __call__(self, rows: slice) -> float:
        """Take a step on these images; seconds."""
        _wait(self.images.x.device)
        start = time.perf_counter()
        self.loop._step(self._optimizer, self._tally, self.images.scaled(self.images.x[rows]), self.images.y[rows])
        _wait(self.images.x.device)
        return time.perf_counter() - start


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def check(stepper: Stepper) -> float:
    """Largest relative difference between the gradients of the naive loss and the product's; raises where large."""
    weights = stepper.loop.weights
    gradients, values = [], []
    for name in ("cnet", "concatenated"):
        method = VARIANTS[name]
        assert method is not None
        penalty = method.penalty(weights, Moment(0, 1))
        assert penalty is not None
        values.append(penalty.item())
        gradients.append(torch.cat([g.reshape(-1) for g in torch.autograd.grad(penalty, list(weights.values()))]))
    difference = ((gradients[0] - gradients[1]).abs().max() / gradients[1].abs().max()).item()
    assert abs(values[0] / values[1] - 1) < 1e-4, values
    assert difference < 1e-4, difference
    return difference


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one setting."""
    trainer = _trainer(options)
    steppers = {name: Stepper(trainer, method, compiled=options.compile) for name, method in VARIANTS.items()}
    difference = check(steppers["plain"])
    times: dict[str, list[float]] = {name: [] for name in steppers}
    names = list(steppers)
    for index in range(options.warmup + options.rounds):
        first = (index % 4) * options.batch_size
        for name in names[index % 3 :] + names[: index % 3]:  # nobody always comes after the same
            seconds = steppers[name](slice(first, first + options.batch_size))
            if index >= options.warmup:
                times[name].append(seconds)
    for stepper in steppers.values():
        assert all(bool(w.isfinite().all()) for w in stepper.loop.weights.values())
    return {
        "milliseconds": {name: 1000 * statistics.median(row) for name, row in times.items()},
        "against_plain": {name: _quotient(row, times["plain"]) for name, row in times.items()},
        "gradient_difference": difference,
    }


def _quotient(row: list[float], plain: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(row, plain, strict=True))


def _trainer(options: argparse.Namespace) -> Trainer:
    rng = np.random.default_rng(0)
    count = 4 * options.batch_size
    x = rng.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
    y = np.arange(count, dtype=np.int64) % 10
    training = Training(
        batch_size=options.batch_size,
        optimizer=Optimizer(name="sgd", learning_rate=0.01),
        device=options.device,
        precision=options.precision,
    )
    return Trainer(ARCHITECTURES.create(options.architecture), Dataset(x, y, x[:16], y[:16]), training)


def table(options: argparse.Namespace, figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    heading = (
        f"{options.architecture}, batch {options.batch_size}, 3x32x32, {options.precision}"
        f"{', compiled' if options.compile else ''}; {_machine(options.device)}"
    )
    rows = [
        f"| {name} | {figures['milliseconds'][name]:.2f} | {figures['against_plain'][name]:.3f} |"
        for name in figures["milliseconds"]
    ]
    return "\n".join([heading, "", "| step | ms, median | against plain, median |", "|---|---|---|", *rows])


def _machine(device: str) -> str:
    on_gpu = device != "cpu" and torch.cuda.is_available()
    where = torch.cuda.get_device_name() if on_gpu else f"CPU, {torch.get_num_threads()} threads"
    return f"{where}; torch {torch.__version__}, Python {platform.python_version()}"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="resnet32", choices=ARCHITECTURES.names())
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=20, help="timed steps of each variant")
    parser.add_argument("--warmup", type=int, default=3, help="steps of each variant before those")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--compile", action="store_true", help="put the nets through torch.compile")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as a table")
    return parser.parse_args(arguments)


def main(arguments: list[str], write: Callable[[str], Any] = print) -> None:
    """Measure and print."""
    options = parse(arguments)
    with numerics():
        figures = measure(options)
    write(json.dumps(figures) if options.json else table(options, figures))


if __name__ == "__main__":
    main(sys.argv[1:])
