"""Accuracy and size that the default recipe reaches, compared with other recipes.

    python benchmarks/recipe.py [--architecture lenet300_100] [--seeds 3] [--epochs 10]

A job that names only network, data set, epochs and sparsity uses the default recipe. All recipes start from one
baseline on the built-in data set digits and use the same epochs, at 90, 95 and 98 % sparsity and 16 clusters.
Accuracies are those of the decoded bundles, averaged over seeds of fine-tuning, pruning and recovery.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cnet.bundle import open_bundle
from cnet.data import DATASETS, Dataset
from cnet.models import ARCHITECTURES
from cnet.pipeline import Inputs, Outcome, SilentRunObserver, run
from cnet.spec import JobSpec
from cnet.weights import Weights

SPARSITIES = (0.9, 0.95, 0.98)
_AT_ONCE = {"name": "magnitude", "sparsity": list(SPARSITIES), "gradual": {"epochs": 0}}
_PAPER = {"optimizer": {"learning_rate": 0.001}}
RECIPES: dict[str, dict[str, Any]] = {
    "ramp, at once, rate 0.001": {"method": {"name": "cnet", "ramp": {}}, "prune": _AT_ONCE, "training": _PAPER},
    "none, at once, rate 0.001": {"method": {"name": "none"}, "prune": _AT_ONCE, "training": _PAPER},
    "ramp, gradual": {"method": {"name": "cnet", "ramp": {}}},
    "λ 0.005 without decay, gradual": {"method": {"name": "cnet", "decay": 0.0}},
    "none, gradual": {"method": {"name": "none"}},
    "default, rate 0.001": {"training": _PAPER},
    "default": {},
    "default with obd": {"prune": {"name": "obd", "sparsity": list(SPARSITIES)}},
}


@cache
def _digits() -> Dataset:
    return DATASETS.create("digits").load()


def on_digits(spec: dict[str, Any], weights: Weights | None) -> tuple[Outcome, Weights]:
    """Run a job on digits; return its outcome and the weights of its first point."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(JobSpec.parse(spec), Inputs(weights, _digits(), Path(folder)), SilentRunObserver())
        return outcome, open_bundle(outcome.bundles[0]).weights()


def baseline(architecture: str) -> tuple[float, Weights]:
    """Train a network from scratch; return its accuracy in percent and its weights."""
    spec = {
        "architecture": {"name": architecture},
        "dataset": "digits",
        "validation": 0,  # the committed results are of trainings on all training data
        "training": {"epochs": 0},
        "baseline": {"epochs": 40, "schedule": {"name": "cosine"}, "optimizer": {"learning_rate": 0.002}},
        "recover": {"epochs": 0, "centroid_epochs": 0},
        "prune": {"name": "magnitude", "sparsity": 0.0},
        "quantize": {"name": "none"},
    }
    outcome, weights = on_digits(spec, None)
    return outcome.baseline.accuracy or 0.0, weights


def measure(recipe: dict[str, Any], options: argparse.Namespace, weights: Weights) -> list[list[tuple[float, int]]]:
    """Accuracy in percent and bytes: a row for each seed, with a pair for each sparsity."""
    rows = []
    for seed in range(options.seeds):
        training = {"epochs": options.epochs, "seed": seed, "device": "cpu", **recipe.get("training", {})}
        spec = {
            "checkpoint": "c",
            "architecture": {"name": options.architecture},
            "dataset": "digits",
            "validation": 0,
            "recover": {"epochs": 5},
            "prune": {"name": "magnitude", "sparsity": list(SPARSITIES)},
            "quantize": {"name": "kmeans", "clusters": 16},
            **recipe,
            "training": training,
        }
        outcome, _ = on_digits(spec, weights)
        rows.append([(point.accuracy or 0.0, point.bytes.total) for point in outcome.points])
    return rows


def main(arguments: list[str]) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="lenet300_100", choices=ARCHITECTURES.names())
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args(arguments)
    accuracy, weights = baseline(options.architecture)
    print(f"{options.architecture} on digits: baseline {accuracy:.2f} %, {options.seeds} seeds\n")
    print("| recipe | " + " | ".join(f"{s:.0%}" for s in SPARSITIES) + " |\n|---|" + "---|" * len(SPARSITIES))
    for name, recipe in RECIPES.items():
        means = np.mean(measure(recipe, options, weights), axis=0)
        cells = " | ".join(f"{right:.1f} %, {size:,.0f} B" for right, size in means)
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
