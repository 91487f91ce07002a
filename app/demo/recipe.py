"""Settings of the demo: network, training and job. It takes about one minute on two cores."""

from __future__ import annotations

from typing import Any

ARCHITECTURE = "resnet20"
DATASET = "digits"
THREADS = 1
"""One thread: more gain nothing for a small network, and their number decides the order of sums, and so the bundle."""

LEAST_RATIO = 15.0
MOST_ACCURACY_LOST = 1.0
"""What the selected point must reach: compression ratio to the npz of the original, and lost points of accuracy."""

BASELINE: dict[str, Any] = {
    "epochs": 8,
    "batch_size": 64,
    "optimizer": {"name": "adam", "learning_rate": 0.003},
    "schedule": {"name": "cosine"},
    "seed": 0,
    "device": "cpu",
}
"""Settings of the training of the baseline."""


def job(checkpoint_id: str) -> dict[str, Any]:
    """The job specification for an uploaded checkpoint."""
    return {
        "name": "demo",
        "checkpoint": checkpoint_id,
        "architecture": {"name": ARCHITECTURE},
        "dataset": DATASET,
        "method": {"name": "cnet"},
        "training": {
            "epochs": 5,
            "batch_size": 64,
            "optimizer": {"name": "adam", "learning_rate": 0.003},
            "seed": 0,
            "device": "cpu",
        },
        "prune": {"name": "magnitude", "sparsity": [0.8, 0.9], "gradual": {"epochs": 3}},
        "recover": {"epochs": 3, "centroid_epochs": 1, "learning_rate": 0.001},
        "quantize": {"name": "kmeans", "clusters": [16]},
        "encode": {"name": "npz"},
        "target": {"max_accuracy_drop": MOST_ACCURACY_LOST},
    }
