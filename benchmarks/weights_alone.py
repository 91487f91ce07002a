"""The proximal step and low rank in jobs without data: ``python -m benchmarks.weights_alone FILE``.

One row for each bundle of the checkpoint FILE, with 16 clusters and the encoder ``compact``: pruning before k-means,
the proximal step before k-means, low rank before k-means. Errors compare the decoded weights with those of the
checkpoint.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from cnet.bundle import open_bundle
from cnet.formats import read_checkpoint
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.spec import JobSpec
from cnet.weights import Weights

COLUMNS = ("method", "zeros", "bytes", "error", "error by layer")

SPECS: dict[str, dict[str, Any]] = {
    **{f"prune {s}": {"prune": {"name": "magnitude", "sparsity": s}} for s in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)},
    **{f"lamp {s}": {"prune": {"name": "lamp", "sparsity": s}} for s in (0.5, 0.7)},
    **{f"cnet, lambda {s}": {"method": {"name": "cnet", "lambda": s}} for s in (0.3, 0.5, 0.7, 0.9)},
    **{
        f"low rank, energy {e}": {
            "transform": {"name": "low_rank", "energy": e},
            "prune": {"name": "magnitude", "sparsity": 0.0},
        }
        for e in (0.5, 0.7, 0.8, 0.9)
    },
}


def errors(weights: Weights, decoded: Weights) -> tuple[float, float]:
    """Squared error divided by the sum of squares: for all weights, and as a mean over tensors weighted by size."""
    total = power = by_layer = 0.0
    for name in weights.compressible:
        given = weights[name].values().astype(np.float64)
        lost = float(np.sum((decoded[name].values().astype(np.float64) - given) ** 2))
        own = float(np.sum(given * given))
        total, power = total + lost, power + own
        by_layer += lost / own * given.size
    return total / power, by_layer / weights.compressible_parameters


def row(name: str, members: dict[str, Any], weights: Weights) -> tuple[str, ...]:
    """The row of one bundle."""
    spec = JobSpec.parse({"checkpoint": "file", "quantize": {"name": "kmeans", "clusters": 16}, **members})
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(spec, Inputs(weights, None, Path(folder)), SilentRunObserver())
        whole, by_layer = errors(weights, open_bundle(outcome.bundles[0]).weights())
    point = outcome.points[0]
    return (name, f"{point.sparsity:.3f}", f"{point.bytes.total:,}", f"{whole:.4f}", f"{by_layer:.4f}")


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a checkpoint")
    weights = read_checkpoint(parser.parse_args().file).weights
    print(f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS), sep="\n")
    for name, members in SPECS.items():
        print(f"| {' | '.join(row(name, members, weights))} |", flush=True)


if __name__ == "__main__":
    main()
