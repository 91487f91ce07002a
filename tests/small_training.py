"""A data set, settings and a trainer so small that a training takes a fraction of a second."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnet.data import Dataset
from cnet.models import ARCHITECTURES, Architecture
from cnet.observer import SilentObserver
from cnet.symbols import Symbols
from cnet.training.config import Optimizer, Training
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.trainer import Trainer
from cnet.weights import Weights


def small_dataset(images: int = 64, *, channels: int = 1, side: int = 8, classes: int = 4) -> Dataset:
    """A data set of noisy images in which the class decides which part is bright; the same at each call."""
    random = np.random.default_rng(7)
    y = np.arange(images, dtype=np.int64) % classes
    x = random.integers(0, 90, (images, channels, side, side), dtype=np.uint8)
    for row, label in enumerate(y):
        start = label * side // classes
        x[row, :, start : start + max(side // classes, 1)] += 120
    half = images // 2
    return Dataset.of_arrays(x[:half], y[:half], x[half:], y[half:])


def small_training(**given: Any) -> Training:
    """Settings of three epochs of batches of ten with Adam; ``given`` replaces settings."""
    return Training(**{"epochs": 3, "batch_size": 10, "optimizer": Optimizer(learning_rate=0.003), **given})


def small_trainer(architecture: str | Architecture = "lenet300_100", **given: Any) -> Trainer:
    """A trainer of an architecture on the small data set; ``given`` replaces the trainer's attributes."""
    chosen = ARCHITECTURES.create(architecture) if isinstance(architecture, str) else architecture
    dataset = given.get("dataset", small_dataset())
    network = ArchitectureBuilder.for_dataset(chosen, dataset)
    return Trainer(**{"network": network, "dataset": dataset, "training": small_training(), **given})


def coarse(weights: Weights) -> Symbols:
    """Symbols that prune half of the weights and round the others to eight values."""
    vector = weights.vector()
    keep = np.abs(vector) > np.median(np.abs(vector))
    edges = np.quantile(vector[keep], np.arange(1, 8) / 8)
    labels = np.searchsorted(edges, vector[keep]).astype(np.uint8)
    centroids = np.array([vector[keep][labels == k].mean() for k in range(8)], np.float32)
    return Symbols(keep, labels, centroids)


def same_bits(one: Weights, two: Weights) -> bool:
    """Whether all tensors are the same, bit for bit."""
    return all(
        a.name == b.name and a.dtype == b.dtype and a.data.tobytes() == b.data.tobytes()
        for a, b in zip(one, two, strict=True)
    )


class Recorder(SilentObserver):
    """An observer that records metrics and log lines, and asks to stop after so many metrics."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.metrics: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self._stop_after = stop_after

    def metric(self, values: dict[str, Any]) -> None:
        """Record the metrics."""
        self.metrics.append(values)

    def log(self, message: str) -> None:
        """Record the line."""
        self.lines.append(message)

    def should_stop(self) -> bool:
        """Whether enough metrics were recorded."""
        return self._stop_after is not None and len(self.metrics) >= self._stop_after
