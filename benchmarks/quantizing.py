"""Quantizers on the same pruned networks, without and with training afterwards: bytes, loss and accuracy.

    python -m benchmarks.quantizing [--architecture lenet300_100] [--sparsity 0.95] [--seeds 3]

On the built-in data set digits: a baseline, a network of the default recipe for each seed, and each quantizer on the
same networks. Losses (mean cross-entropy of the test images) and accuracies are measured on the decoded bundle; means
over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.recipe import baseline, on_digits
from cnet.pipeline import Outcome
from cnet.results.points import Point
from cnet.weights import Weights

STEPS = (0.2, 0.3, 0.4, 0.6)
_PLAIN = {"name": "ecsq", "states": 1}
CODERS: dict[str, tuple[Sequence[dict[str, Any]], int]] = {
    "kmeans, trained": ([{"name": "kmeans", "clusters": count} for count in (32, 16, 8)], 1),
    "trellis": ([{"name": "ecsq", "step": step} for step in STEPS], 0),
    "trellis, curvature": ([{"name": "ecsq", "step": step, "sensitivity": 0.5} for step in STEPS], 0),
    "trellis, biases trained": ([{"name": "ecsq", "step": step} for step in STEPS], 1),
    "no trellis": ([{**_PLAIN, "step": step} for step in STEPS], 0),
    "no trellis, trained": ([{**_PLAIN, "step": step} for step in STEPS], 1),
    "no trellis, curvature, trained": ([{**_PLAIN, "step": step, "sensitivity": 0.5} for step in STEPS], 1),
}
"""By name: quantizers from fine to coarse, and the number of epochs of training after them."""


def _run(members: dict[str, Any], architecture: str, weights: Weights) -> tuple[Outcome, Weights]:
    """The outcome of a job that starts from ``weights``, and the weights of its first bundle."""
    members = {"validation": 0, **members}  # the committed results are of trainings on all training data
    spec = {"checkpoint": "c", "architecture": {"name": architecture}, "dataset": "digits", **members}
    return on_digits(spec, weights)


def cut(options: argparse.Namespace, seed: int, weights: Weights) -> Weights:
    """The weights that the default recipe prunes."""
    members = {
        "training": {"epochs": 10, "seed": seed, "device": "cpu"},
        "prune": {"name": "magnitude", "sparsity": options.sparsity},
        "recover": {"epochs": 5, "centroid_epochs": 0},
        "quantize": {"name": "none"},
    }
    return _run(members, options.architecture, weights)[1]


def coded(options: argparse.Namespace, weights: Weights, quantize: dict[str, Any], epochs: int) -> Point:
    """The point of one quantizer on a pruned network."""
    members = {
        "method": {"name": "none"},
        "training": {"epochs": 0, "device": "cpu"},
        "prune": {"name": "magnitude", "sparsity": 0.0, "gradual": {"epochs": 0}},
        "recover": {"epochs": 0, "centroid_epochs": epochs},
        "quantize": quantize,
    }
    return _run(members, options.architecture, weights)[0].points[0]


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architecture", default="lenet300_100")
    parser.add_argument("--sparsity", type=float, default=0.95)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    accuracy, weights = baseline(options.architecture)
    print(f"Baseline: {accuracy:.2f} %.\n\n| quantizer | bytes / loss / accuracy, from fine to coarse |\n| --- | --- |")
    nets = [cut(options, seed, weights) for seed in range(options.seeds)]
    for name, (quantizers, epochs) in CODERS.items():
        cells = []
        for quantize in quantizers:
            points = [coded(options, net, quantize, epochs) for net in nets]
            size, loss = fmean(point.bytes.total for point in points), fmean(point.loss or 0.0 for point in points)
            cells.append(f"{size:,.0f} / {loss:.4f} / {fmean(point.accuracy or 0.0 for point in points):.2f}")
        print(f"| {name} | {'; '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
