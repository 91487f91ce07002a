"""A short job from training to bundle on images of CIFAR's shape: time of each phase, and the result.

    python benchmarks/job.py [--architecture resnet32] [--images 10000] [--epochs 2] [--precision bfloat16]

The images are random: each class is a pattern with noise, which a network can learn within an epoch or two.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cnet.bundle import open_bundle
from cnet.data import Dataset
from cnet.models import ARCHITECTURES
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.spec import JobSpec


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
            "architecture": {"name": options.architecture},
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


def main(arguments: list[str]) -> None:
    """Run the job and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="resnet32", choices=ARCHITECTURES.names())
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--precision", default="float32", choices=("float32", "bfloat16"))
    options = parser.parse_args(arguments)
    watch, data = Stopwatch(), dataset(options.images)
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(spec(options), Inputs(None, data, Path(folder)), watch)
        open_bundle(outcome.bundles[0]).verify()
    watch.phase("end")
    point = outcome.points[0]
    images = f"{len(data.train)} images of 3x32x32"
    print(f"{options.architecture}, {images}, batch {options.batch_size}, {options.precision}\n")
    print(f"accuracy {outcome.baseline.accuracy} -> {point.accuracy}")
    print(f"sparsity {point.sparsity:.4f}, ratio {point.ratio:.1f}")
    print(f"epochs a second in fine-tuning: {options.epochs / watch.seconds['finetune']:.3f}\n")
    print("| phase | seconds |\n|---|---|")
    for name, seconds in watch.seconds.items():
        print(f"| {name} | {seconds:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
