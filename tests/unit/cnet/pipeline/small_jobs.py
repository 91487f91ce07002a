"""Nets, data sets, specs and an observer that are small enough to run whole jobs in a unit test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cnet.data import Dataset
from cnet.pipeline import Inputs, Outcome, RunObserver, run
from cnet.results.points import BaselineResult, Point
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights


class Recorder:
    """A run observer that keeps what it hears, and stops or breaks off where a test says.

    Args:
        stop: given the events so far, whether to ask the run to stop.
        crash: given the events so far, whether to die on the spot, as by a kill.
    """

    def __init__(
        self,
        stop: Callable[[list[tuple[str, Any]]], bool] = lambda _: False,
        crash: Callable[[list[tuple[str, Any]]], bool] = lambda _: False,
    ) -> None:
        self.events: list[tuple[str, Any]] = []
        self.polls = 0
        self._stop = stop
        self._crash = crash

    def phase(self, name: str) -> None:
        """Keep."""
        self._add("phase", name)

    def progress(self, fraction: float) -> None:
        """Keep."""
        self._add("progress", fraction)

    def metric(self, values: dict[str, Any]) -> None:
        """Keep."""
        self._add("metric", values)

    def log(self, message: str) -> None:
        """Keep."""
        self._add("log", message)

    def baseline(self, result: BaselineResult) -> None:
        """Keep."""
        self._add("baseline", result)

    def point(self, point: Point, bundle: Path) -> None:
        """Keep; the bundle must be there by now."""
        assert bundle.is_file()
        self._add("point", point)

    def should_stop(self) -> bool:
        """As the test says."""
        self.polls += 1
        self.events.append(("poll", self.polls))
        return self._stop(self.events)

    def of(self, kind: str) -> list[Any]:
        """What was heard of one kind, in order."""
        return [value for name, value in self.events if name == kind]

    def _add(self, kind: str, value: Any) -> None:
        self.events.append((kind, value))
        if self._crash(self.events):
            raise KeyboardInterrupt


def random_weights(seed: int = 0) -> Weights:
    """Seven tensors: two weight layers of 1,728 and 320 parameters, biases, batch-norm, a counter."""
    rng = np.random.default_rng(seed)

    def floats(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float32)

    arrays = {
        "conv.weight": floats(64, 3, 3, 3),
        "conv.bias": floats(64),
        "bn.running_mean": floats(64),
        "bn.running_var": np.abs(floats(64)),
        "bn.num_batches_tracked": np.array(7, np.int64),
        "fc.weight": floats(10, 32),
        "fc.bias": floats(10),
    }
    return Weights.select([Tensor(name, str(array.dtype), array) for name, array in arrays.items()])


def blobs(seed: int = 0, train: int = 192, test: int = 96) -> Dataset:
    """Images of 1x6x6 in four classes, each a bright quarter with noise: learnt within few epochs."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, train + test)
    images = rng.integers(0, 90, (train + test, 1, 6, 6))
    for image, label in zip(images, labels, strict=True):
        row, column = 3 * (label // 2), 3 * (label % 2)
        image[0, row : row + 3, column : column + 3] += 110
    pixels = images.astype(np.uint8)
    return Dataset.of_arrays(pixels[:train], labels[:train], pixels[train:], labels[train:])


def weights_spec(**members: Any) -> JobSpec:
    """A job on weights alone: sparsities 0.5 and 0.9, 4 and 16 clusters."""
    defaults = {
        "checkpoint": "ckpt_1",
        "prune": {"name": "magnitude", "sparsity": [0.5, 0.9]},
        "quantize": {"name": "kmeans", "clusters": [4, 16]},
    }
    return JobSpec.parse({**defaults, **members})


def training_spec(**members: Any) -> JobSpec:
    """A job that trains a baseline, fine-tunes, and makes 2 x 2 points on ``blobs``."""
    defaults = {
        "architecture": {"name": "lenet300_100"},
        "dataset": "ds_1",
        "method": {"name": "cnet", "lambda": 0.01},
        "training": {"epochs": 2, "batch_size": 64, "device": "cpu"},
        "baseline": {"epochs": 3},
        "prune": {"name": "magnitude", "sparsity": [0.5, 0.9]},
        "recover": {"epochs": 2, "centroid_epochs": 1},
        "quantize": {"name": "kmeans", "clusters": [4, 16]},
    }
    return JobSpec.parse({**defaults, **members})


def compress(folder: Path, observer: RunObserver | None = None, **members: Any) -> Outcome:
    """A run of ``weights_spec`` on ``random_weights``."""
    inputs = Inputs(random_weights(), None, folder)
    return run(weights_spec(**members), inputs, observer or Recorder())


def train_and_compress(folder: Path, observer: Recorder | None = None, **members: Any) -> Outcome:
    """A run of ``training_spec`` on ``blobs``."""
    return run(training_spec(**members), Inputs(None, blobs(), folder), observer or Recorder())


def digests(outcome: Outcome) -> list[str]:
    """The points' sha256, in order."""
    return [point.sha256 for point in outcome.points]
