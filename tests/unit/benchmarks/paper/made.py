"""Records and rows at hand for tests of tables and claims."""

from __future__ import annotations

from typing import Any

from benchmarks.paper.rows import Row

BASELINE = 91.0
"""Accuracy of the net that all rows come from."""


def row(group: str, label: str, sparsity: float, accuracy: float, **others: Any) -> Row:
    """A row whose other numbers do not matter."""
    values: dict[str, Any] = {
        "coder": "kmeans",
        "clusters": 256,
        "epochs": 10,
        "before": accuracy,
        "drop": round(BASELINE - accuracy, 9),
        "bytes": 1000.0,
        "ratio": 10.0,
        "ratio_weights": 12.0,
        "entropy": None,
        "seeds": 1,
    }
    return Row(group=group, label=label, sparsity=sparsity, accuracy=accuracy, **{**values, **others})


def point(job: str, accuracy: float, **others: Any) -> dict[str, Any]:
    """A record of a point, as the results file has it."""
    found = {
        "index": 0,
        "sparsity_requested": 0.5,
        "clusters_requested": 256,
        "accuracy": accuracy,
        "accuracy_before_quantize": accuracy,
        "label_entropy": 5.0,
        "bytes": {"mask": 10, "labels": 80, "centroids": 10, "total": 200},
        **others,
    }
    seed, group = job.split("/")[:2]
    about = {"job": job, "label": "L1", "group": group, "seed": int(seed), "epochs": 3}
    return {"type": "point", **about, "point": found, "machine": "a machine"}


def baseline(seed: int, accuracy: float) -> dict[str, Any]:
    """A record of a finished baseline."""
    numbers = {"accuracy": accuracy, "npz_bytes": 2000, "compressible_npz_bytes": 1500}
    about = {"job": f"{seed}/base", "label": "Original", "group": "", "seed": seed, "epochs": 0}
    return {"type": "done", **about, "baseline": numbers, "seconds": 1.0, "machine": "a machine"}
