"""The text format in which Prometheus reads numbers (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Sample:
    """One number, with the labels that tell it from others of its family, and what follows the family's name."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: Literal["", "_sum", "_count"] = ""


@dataclass(frozen=True)
class Family:
    """Numbers of one kind: their name, their type, what they mean, and the samples."""

    name: str
    type: Literal["counter", "gauge", "summary"]
    help: str
    samples: Sequence[Sample]


def exposition(families: Sequence[Family]) -> str:
    """The text for Prometheus."""
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.type}"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        yield f"{family.name}{sample.suffix}{f'{{{labels}}}' if labels else ''} {_number(sample.value)}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    """The shortest text that stands for the number; whole numbers without a point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
