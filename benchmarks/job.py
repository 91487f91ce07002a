"""A short job from training to bundle on images of CIFAR's shape: time of each phase, and the result.

    python benchmarks/job.py [--architecture resnet32] [--images 10000] [--epochs 2] [--precision bfloat16] [--exported]

The images are random: each class is a pattern with noise, which a network can learn within an epoch or two. With
``--exported`` the network is a program, exported from the architecture with random weights and read back. A program is
not trained from scratch: its baseline is measured only, and the fine-tuning starts from those weights.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.exported import exported
from cnet.bundle import open_bundle
from cnet.data import Dataset
from cnet.models import ARCHITECTURES
from cnet.models.programs import StoredProgram
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.spec import JobSpec
from cnet.training.networks.architectures import ArchitectureBuilder


class Stopwatch(SilentRunObserver):
    """Adds up the seconds of each phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase = "load"
        self._since = time.perf_counter()

    def phase(self, name: str) -> None:
        """End the phase before, and begin this one."""
        now = time.perf_counter()
        self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = name, now


def dataset(images: int) -> Dataset:
    """Random patterns with noise, a fifth of them for testing."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 120, (10, 3, 32, 32))
    y = np.arange(images, dtype=np.int64) % 10
    x = (patterns[y] + rng.integers(0, 130, (images, 3, 32, 32))).astype(np.uint8)
    cut = images - images // 5
    return Dataset.of_arrays(x[:cut], y[:cut], x[cut:], y[cut:])


def spec(options: argparse.Namespace) -> JobSpec:
    """The job: baseline, fine-tuning with λ, gradual pruning, recovery, one point."""
    return JobSpec.parse(
        {
            "architecture": {"program": "exported"} if options.exported else {"name": options.architecture},
            "dataset": "made-up",
            "validation": 0,  # the committed results are of trainings on all training data
            "method": {"name": "cnet", "lambda": 0.02},
            "training": {
                "epochs": options.epochs,
                "batch_size": options.batch_size,
                "precision": options.precision,
                "device": options.device,
            },
            "prune": {"name": "magnitude", "sparsity": 0.9, "gradual": {"epochs": options.epochs}},
            "recover": {"epochs": options.epochs, "centroid_epochs": 1},
            "quantize": {"name": "kmeans", "clusters": 16},
        }
    )


def program(architecture: str, data: Dataset) -> StoredProgram:
    """A built-in architecture with random weights as a program."""
    builder = ArchitectureBuilder.for_dataset(ARCHITECTURES.create(architecture), data)
    module = builder.build()
    builder.initialize(module, 0)
    return exported(module, torch.zeros(2, *data.input_shape))


def main(arguments: list[str]) -> None:
    """Run the job and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="resnet32", choices=ARCHITECTURES.names())
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--exported", action="store_true", help="the network as an exported program")
    options = parser.parse_args(arguments)
    data = dataset(options.images)
    network = program(options.architecture, data) if options.exported else None
    weights, watch = network.state_dict if network else None, Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(spec(options), Inputs(weights, data, Path(folder), program=network), watch)
        open_bundle(outcome.bundles[0]).verify()
    watch.phase("end")
    point = outcome.points[0]
    images = f"{len(data.train)} images of 3x32x32"
    name = options.architecture + (", exported" if options.exported else "")
    print(f"{name}, {images}, batch {options.batch_size}, {options.precision}\n")
    print(f"accuracy {outcome.baseline.accuracy} -> {point.accuracy}")
    print(f"sparsity {point.sparsity:.4f}, ratio {point.ratio:.1f}")
    print(f"epochs a second in fine-tuning: {options.epochs / watch.seconds['finetune']:.3f}\n")
    print("| phase | seconds |\n|---|---|")
    for name, seconds in watch.seconds.items():
        print(f"| {name} | {seconds:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
