"""Time of a training step: with the compressibility loss, without it, with the loss written naively, of a program.

    python benchmarks/training.py [--architecture resnet32] [--batch-size 128] [--rounds 20] [--precision bfloat16]
        [--no-replay] [--compile]

All variants take turns in one process, step by step, each on a network of its own, so that other work on the machine
affects them alike. The report has the median of each variant, and the median over the rounds of the ratio to the plain
step of the same round. Before any step is timed, value and gradient of the naive form are compared with those of the
product, and on a GPU the weights after replayed steps with those after steps that were run. The steps are those of the
training loop itself, with its optimizer, checks and counts. Images are random and have the shape of CIFAR-10. Each
network takes steps until several in a row compile and record nothing new; only then are steps timed. The variant
``exported`` takes the plain step of the same network as a program, exported and read back.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from benchmarks.exported import exported
from cnet.data import Dataset
from cnet.methods import METHODS, Method, MethodHooks, StepContext
from cnet.models import ARCHITECTURES
from cnet.observer import SilentObserver
from cnet.training.config import Optimizer, Training
from cnet.training.cuda_graphs import cuda_graph_recorder, no_recorder
from cnet.training.device import deterministic_numerics
from cnet.training.device_splits import DeviceSplit
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.programs.builder import ProgramBuilder
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer
from cnet.weights import Weights

LAMBDA = 0.045

EXPORTED = "exported"
"""The variant that takes the plain step of the same network as a program."""


class Concatenated(Method):
    """The loss as one would write it first: all weights copied into one vector, and autograd for the rest."""

    name: Literal["concatenated"] = "concatenated"

    def hooks(self) -> MethodHooks:
        """The loss in PyTorch."""
        return ConcatenatedHooks(self)


class ConcatenatedHooks(MethodHooks):
    """Adds λ ‖w‖₁/‖w‖₂ of the concatenation."""

    recordable: ClassVar[bool] = True

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], context: StepContext) -> torch.Tensor | None:
        """λ ‖w‖₁/‖w‖₂ of the concatenation, a scalar."""
        del context
        vector = torch.cat([weight.reshape(-1) for weight in weights.values()])
        loss: torch.Tensor = LAMBDA * vector.norm(1) / vector.norm(2)
        return loss


VARIANTS: dict[str, Method | None] = {
    "plain": None,
    "cnet": METHODS.create("cnet", lambda_=LAMBDA),
    "concatenated": Concatenated(),
}


class LogLines(SilentObserver):
    """Collects the log, which says why steps are not replayed where they are not."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        """Collect the message, once."""
        if message not in self.lines:
            self.lines.append(message)


class Stepper:
    """One network under training, ready to take a step."""

    def __init__(self, trainer: Trainer, method: Method | None, *, compiled: bool) -> None:
        network = trainer.load(_initial(trainer))
        self.loop = trainer.loop(network, TrainingStage("benchmark", trainer.training, method))
        if compiled:
            network.module.forward = _compiled_forward(network.module)
        self.loop.begin_epoch(0)

    @property
    def split(self) -> DeviceSplit:
        """The training images, on the device."""
        return self.loop.split

    @property
    def weights(self) -> Mapping[str, torch.nn.Parameter]:
        """The compressible parameters."""
        return self.loop.method.weights

    def __call__(self, rows: slice) -> float:
        """Take a step on these images; return its seconds, as ``_clock`` counts them."""
        clock = _clock(self.split.device)
        _wait(self.split.device)
        start = clock()
        self.loop.step(self.split.rows(rows), self.split.targets[rows])
        _wait(self.split.device)
        return clock() - start


def _initial(trainer: Trainer) -> Weights:
    """The weights to start from: those of the program, or random ones."""
    network = trainer.network
    return network.stored.state_dict if isinstance(network, ProgramBuilder) else trainer.initial(0)


def _compiled_forward(module: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """The module's forward pass, compiled as one graph.

    ``module.compile()`` does not suffice: PyTorch does not trace the code of ``nn.Sequential`` itself, so that each
    block becomes a graph of its own, and blocks with other numbers of channels make them graphs of unknown shape.
    """
    forward = module.forward

    def run(images: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = forward(images)
        return outputs

    return torch.compile(run, fullgraph=True, dynamic=False)


def _clock(device: torch.device) -> Callable[[], float]:
    """The clock: the process's own time if it computes with one thread, so that other processes do not count."""
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    return time.process_time if alone else time.perf_counter


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def check(stepper: Stepper) -> float:
    """Largest relative difference of the gradients of naive loss and product; AssertionError where it is large."""
    weights = stepper.weights
    gradients, values = [], []
    for name in ("cnet", "concatenated"):
        method = VARIANTS[name]
        assert method is not None
        penalty = method.hooks().penalty(weights, StepContext(0, 1))
        assert penalty is not None
        values.append(penalty.item())
        gradients.append(torch.cat([g.reshape(-1) for g in torch.autograd.grad(penalty, list(weights.values()))]))
    difference = ((gradients[0] - gradients[1]).abs().max() / gradients[1].abs().max()).item()
    assert abs(values[0] / values[1] - 1) < 1e-4, values
    assert difference < 1e-4, difference
    return difference


def check_replay(trainer: Trainer) -> float | None:
    """Largest difference of weights after replayed and after run steps, by the largest weight; None on a CPU."""
    if trainer.device.type != "cuda" or trainer.graph_recorder is no_recorder:
        return None
    ended = []
    for one in (trainer, replace(trainer, graph_recorder=no_recorder)):
        stepper = Stepper(one, VARIANTS["cnet"], compiled=False)
        for _ in range(4):
            stepper(slice(0, trainer.training.batch_size))
        ended.append(torch.cat([weight.detach().reshape(-1) for weight in stepper.weights.values()]))
    difference = ((ended[0] - ended[1]).abs().max() / ended[1].abs().max()).item()
    assert difference < 1e-3, difference
    return difference


def warm(stepper: Stepper, rows: slice, steps: int) -> int:
    """Take steps until so many in a row compile nothing; return the number of compiled graphs."""
    first = compiled = _compiled()
    quiet = 0
    while quiet < steps:
        stepper(rows)
        quiet = quiet + 1 if _compiled() == compiled else 0
        compiled = _compiled()
    return compiled - first


def _compiled() -> int:
    dynamo = sys.modules.get("torch._dynamo.utils")
    return 0 if dynamo is None else int(dynamo.counters["stats"]["unique_graphs"])


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the figures of one setting."""
    log = LogLines()
    trainer = _trainer(options, log)
    steppers = {name: _stepper(trainer, name, compiled=options.compile) for name in ("plain", *options.variants)}
    difference = check(steppers["plain"])
    replayed = check_replay(trainer)
    graphs = sum(warm(stepper, slice(0, options.batch_size), options.warmup) for stepper in steppers.values())
    times: dict[str, list[float]] = {name: [] for name in steppers}
    names = list(steppers)
    for index in range(options.rounds):
        first = (index % 4) * options.batch_size
        turn = index % len(names)  # no variant always follows the same other
        for name in names[turn:] + names[:turn]:
            times[name].append(steppers[name](slice(first, first + options.batch_size)))
    for stepper in steppers.values():
        assert all(bool(w.isfinite().all()) for w in stepper.weights.values())
    return {
        "milliseconds": {name: 1000 * statistics.median(row) for name, row in times.items()},
        "against_plain": {name: _median_ratio(row, times["plain"]) for name, row in times.items()},
        "gradient_difference": difference,
        "replay_difference": replayed,
        "compiled_graphs": graphs,
        "notes": log.lines,
    }


def _stepper(trainer: Trainer, variant: str, *, compiled: bool) -> Stepper:
    """The network of one variant, ready to take steps."""
    if variant == EXPORTED:
        return Stepper(_exported(trainer), None, compiled=compiled)
    return Stepper(trainer, VARIANTS[variant], compiled=compiled)


def _median_ratio(row: list[float], plain: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(row, plain, strict=True))


def _trainer(options: argparse.Namespace, log: LogLines) -> Trainer:
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
    dataset = Dataset.of_arrays(x, y, x[:16], y[:16])
    network = ArchitectureBuilder.for_dataset(ARCHITECTURES.create(options.architecture), dataset)
    recorder = cuda_graph_recorder if options.replay else no_recorder
    return Trainer(network, dataset, training, observer=log, graph_recorder=recorder)


def _exported(trainer: Trainer) -> Trainer:
    """A trainer of the same network as a program, with the initial weights of the other's."""
    module = trainer.load(trainer.initial(0)).module.cpu()
    network = ProgramBuilder(exported(module, torch.zeros(2, 3, 32, 32)), 0, trainer.device)
    return replace(trainer, network=network)


def table(options: argparse.Namespace, figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    how = "" if options.replay else ", each launch by itself"
    heading = (
        f"{options.architecture}, batch {options.batch_size}, 3x32x32, {options.precision}"
        f"{', compiled' if options.compile else ''}{how}; {_machine(options.device)}"
    )
    rows = [
        f"| {name} | {figures['milliseconds'][name]:.2f} | {figures['against_plain'][name]:.3f} |"
        for name in figures["milliseconds"]
    ]
    notes = [f"Gradients differ from the naive loss's by {figures['gradient_difference']:.1e} of the largest."]
    if figures["replay_difference"] is not None:
        notes.append(
            f"Replayed steps differ from run ones by {figures['replay_difference']:.1e} of the largest weight."
        )
    ratio = figures["against_plain"].get(EXPORTED)
    if ratio is not None:
        notes.append(f"The step of the exported network takes {ratio:.3f} times that of the built-in one (goal: 1.05).")
    if options.compile:
        notes.append(f"Graphs compiled for all networks: {figures['compiled_graphs']}.")
    notes += figures["notes"]
    head = ["| step | ms, median | against plain, median |", "|---|---|---|"]
    return "\n".join([heading, "", *head, *rows, "", *notes])


def _machine(device: str) -> str:
    on_gpu = device != "cpu" and torch.cuda.is_available()
    threads = torch.get_num_threads()
    where = torch.cuda.get_device_name() if on_gpu else f"CPU, {threads} thread{'s' * (threads > 1)}"
    if _clock(torch.device("cuda" if on_gpu else "cpu")) is time.process_time:
        where += ", its own time"
    return f"{where}; torch {torch.__version__}, Python {platform.python_version()}"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="resnet32", choices=ARCHITECTURES.names())
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=20, help="timed steps of each variant")
    parser.add_argument("--warmup", type=int, default=3, help="steps of each variant before them that compile nothing")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument(
        "--replay",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="on a GPU, record steps as CUDA graphs, as the product does",
    )
    names = [*VARIANTS, EXPORTED]
    parser.add_argument("--variants", nargs="+", default=names, choices=names, help="beside the plain step")
    parser.add_argument("--compile", action="store_true", help="compile the networks with torch.compile")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as a table")
    return parser.parse_args(arguments)


def main(arguments: list[str], write: Callable[[str], Any] = print) -> None:
    """Measure and print."""
    options = parse(arguments)
    with deterministic_numerics():
        figures = measure(options)
    write(json.dumps(figures) if options.json else table(options, figures))


if __name__ == "__main__":
    main(sys.argv[1:])
