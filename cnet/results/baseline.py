"""The network before compression, and the number by which networks of a task are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol, Self

from cnet.results.measurements import BaselineMeasurement, Scores, test_score, validation_score
from cnet.results.measures import npz_bytes, npz_vector_bytes
from cnet.results.metrics import Metric, compute, declare, finite


def _baseline(unit: str, description: str, compute: Callable[[BaselineMeasurement], Any], **shown: Any) -> Any:
    return declare(Metric(unit, description, "network", compute, **{"noted": "exact", **shown}))


def _score(unit: str, description: str, compute: Callable[[Scores], Any]) -> Any:
    return declare(Metric(unit, description, "network", compute))


@dataclass(frozen=True)
class TaskScore:
    """The number by which networks of a task are compared."""

    name: str = field(metadata=_score("", "Name of the number, such as `accuracy` or `mse`.", lambda m: m.name))
    unit: str = field(metadata=_score("", "Its unit, such as `percent`.", lambda m: m.unit))
    value: float = field(metadata=_score("", "On the test split.", lambda m: m.value))
    validation: float | None = field(
        metadata=_score(
            "", "On the validation split, on which choices are made; null without.", lambda m: m.validation_value
        )
    )
    higher_is_better: bool = field(
        metadata=_score("", "Whether a better network has a larger value.", lambda m: m.higher_is_better)
    )

    @property
    def text(self) -> str:
        """Name, value and unit, such as ``accuracy 97.50 %`` or ``mse 0.0123``; the value on the test split."""
        if self.unit == "percent":
            return f"{self.name} {self.value:.2f} %"
        return f"{self.name} {self.value:.4g} {self.unit}".rstrip()


@dataclass(frozen=True)
class BaselineResult:
    """The network before compression."""

    accuracy: float | None = field(
        metadata=_baseline(
            "percent",
            "Accuracy on the test split; null without a data set, or for a task other than classification and binary.",
            lambda m: test_score(m.scores, "accuracy"),
        )
    )
    loss: float | None = field(
        metadata=_baseline(
            "",
            "Mean loss of the task on the test split, for a classification in nats; null without a data set.",
            lambda m: test_score(m.scores, "loss"),
            noted="rounded",
        )
    )
    raw_bytes: int = field(
        metadata=_baseline("bytes", "Size of all elements in their own types.", lambda m: m.weights.raw_bytes)
    )
    npz_bytes: int = field(
        metadata=_baseline(
            "bytes",
            "Size of all tensors as `numpy.savez_compressed` writes them, one member each.",
            lambda m: npz_bytes(m.weights),
        )
    )
    compressible_npz_bytes: int = field(
        metadata=_baseline(
            "bytes",
            "Size of the compressible weights, as one float32 vector that `numpy.savez_compressed` writes.",
            lambda m: npz_vector_bytes(m.weights),
        )
    )
    parameters: int = field(
        metadata=_baseline(
            "",
            "Elements of all tensors, tied ones once: parameters, and buffers such as the running means of a batch "
            "normalization.",
            lambda m: m.weights.parameters,
        )
    )
    compressible_parameters: int = field(
        metadata=_baseline("", "Compressible weights.", lambda m: m.weights.compressible_parameters)
    )
    metric: TaskScore | None = field(
        default=None,
        metadata=_baseline(
            "",
            "What networks of the task are compared by; null without a data set.",
            lambda m: task_score(m.scores),
            noted="measured",
        ),
    )
    accuracy_validation: float | None = field(
        default=None,
        metadata=_baseline(
            "percent",
            "Accuracy on the validation split; null without one.",
            lambda m: validation_score(m.scores, "accuracy"),
            noted="measured",
        ),
    )

    @property
    def quality(self) -> float | None:
        """The number that choices compare, larger is better; None where nothing was measured."""
        return quality_of(self)

    def to_json(self) -> dict[str, Any]:
        """The contract's ``baseline``; all values are JSON numbers or null."""
        return finite_values(asdict(self))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``; other members are ignored."""
        return cls(**with_metric(own_members(cls, document)))


def task_score(scores: Scores | None) -> TaskScore | None:
    """The score that networks of the task are compared by; None where it was not measured."""
    return None if scores is None or not scores.name else compute(TaskScore, scores)


class HasScore(Protocol):
    """A result with the score of a network."""

    @property
    def accuracy(self) -> float | None:
        """On the test split."""

    @property
    def accuracy_validation(self) -> float | None:
        """On the validation split."""

    @property
    def metric(self) -> TaskScore | None:
        """What networks of the task are compared by."""


def quality_of(result: HasScore) -> float | None:
    """The metric on the validation split, without one on the test split, negative where lower is better."""
    tested, validated = scores_by_split(result)
    chosen = tested if validated is None else validated
    if chosen is None or result.metric is None or result.metric.higher_is_better:
        return chosen
    return -chosen


def scores_by_split(result: HasScore) -> tuple[float | None, float | None]:
    """The score on the test split and that on the validation split; None where it was not measured."""
    if result.metric is None:
        return result.accuracy, result.accuracy_validation
    return result.metric.value, result.metric.validation


def choice_split(result: HasScore) -> str:
    """Name of the split whose scores choices compare: ``validation``, or ``test`` where there is none."""
    return "test" if scores_by_split(result)[1] is None else "validation"


def score_text(result: HasScore) -> str:
    """The score of a network, such as ``, accuracy 97.50 %``, to end a line with; empty where nothing was measured."""
    if result.metric is not None:
        return f", {result.metric.text}"
    return "" if result.accuracy is None else f", accuracy {result.accuracy:.2f} %"


def with_metric(members: dict[str, Any]) -> dict[str, Any]:
    """The members of a result, its metric read."""
    metric = members.get("metric")
    return {**members, "metric": None if metric is None else TaskScore(**own_members(TaskScore, metric))}


def own_members(cls: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """The members of ``document`` that are fields of the dataclass ``cls``."""
    return {each.name: document[each.name] for each in fields(cls) if each.name in document}


def finite_values(document: dict[str, Any]) -> dict[str, Any]:
    """The document with null for every number that JSON does not have."""
    return {key: finite(value) for key, value in document.items()}
