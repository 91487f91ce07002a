"""What the metrics of a run are computed from (``cnet.results.points``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from cnet.results.histogram import WeightHistogram
from cnet.results.measures import WeightCounts
from cnet.weights import Weights

if TYPE_CHECKING:
    from cnet.results.points import BaselineResult, PartBytes


@dataclass(frozen=True, eq=False)
class Scores:
    """How well a network does at its task.

    Attributes:
        name: of the score by which networks of the task are compared; empty where only differences from the original
            network were measured.
        unit: of that score.
        higher_is_better: whether a better network has a larger one.
        test: scores by name on the test split.
        validation: on the validation split; None without one.
    """

    name: str
    unit: str
    higher_is_better: bool
    test: Mapping[str, float]
    validation: Mapping[str, float] | None

    @classmethod
    def of_differences(cls, differences: Mapping[str, float], inputs: int) -> Self:
        """Differences from the original network where there is no data set to score a task on.

        Args:
            differences: by name.
            inputs: how many they were measured on; it becomes the score ``inputs``.
        """
        return cls("", "", True, {**differences, "inputs": inputs}, None)  # noqa: FBT003 - no score is compared

    @property
    def value(self) -> float:
        """The score on the test split."""
        return self.test[self.name]

    @property
    def validation_value(self) -> float | None:
        """The score on the validation split; None without one."""
        return None if self.validation is None else self.validation[self.name]


def test_score(scores: Scores | None, name: str) -> float | None:
    """The score of this name on the test split; None where it was not measured."""
    return None if scores is None else scores.test.get(name)


def validation_score(scores: Scores | None, name: str) -> float | None:
    """The score of this name on the validation split; None where it was not measured."""
    return None if scores is None or scores.validation is None else scores.validation.get(name)


@dataclass(frozen=True, eq=False)
class BaselineMeasurement:
    """What is known of the network before compression.

    Attributes:
        weights: all its tensors.
        scores: at its task, None without a data set.
    """

    weights: Weights
    scores: Scores | None


@dataclass(frozen=True, eq=False)
class TensorMeasurement:
    """What was measured of one compressible tensor: its name, shape, counts, and the distribution of its weights."""

    name: str
    shape: tuple[int, ...]
    counts: WeightCounts
    histogram: WeightHistogram | None = None


@dataclass(frozen=True, eq=False)
class NetworkMeasurement:
    """What was measured of the network that a bundle decodes to.

    Attributes:
        scores: at its task, None without a data set.
        accuracy_before_quantize: of the network that was pruned and recovered, and not yet quantized.
        centroids: number of centroids, None where values are kept as they are.
        counts: over all of w_net.
        tensors: of each compressible tensor, in order of w_net.
        histogram: of the weights before and after.
    """

    scores: Scores | None
    accuracy_before_quantize: float | None
    centroids: int | None
    counts: WeightCounts
    tensors: tuple[TensorMeasurement, ...]
    histogram: WeightHistogram | None = None


@dataclass(frozen=True, eq=False)
class PointMeasurement:
    """What is known of a point before its file is finished.

    Attributes:
        index: how many points of the run come before it.
        sparsity: what was asked of the pruner.
        clusters: what was asked of the quantizer, None where it has no such number.
        quantizer: name of the quantizer.
        settings: of the quantizer, by the names of the metrics that report them.
        network: of the decoded network.
        baseline: the network before compression.
    """

    index: int
    sparsity: float
    clusters: int | None
    quantizer: str
    settings: Mapping[str, float]
    network: NetworkMeasurement
    baseline: BaselineResult


@dataclass(frozen=True, eq=False)
class BundleMeasurement(PointMeasurement):
    """A point with all its metrics, and sizes and SHA-256 (hex) of its bundle."""

    bytes: PartBytes
    sha256: str
