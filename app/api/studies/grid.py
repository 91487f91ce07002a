"""The grid of a study: which job specifications it stands for."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from cnet.errors import Issue, SpecError
from cnet.parts.validation import not_valid, part_of_fields
from cnet.spec import DEFAULT_PARTS, JobSpec


@dataclass(frozen=True)
class GridPoint:
    """One job of a study: its place, its value for each path, and its specification."""

    index: int
    values: dict[str, Any]
    spec: dict[str, Any]

    def __str__(self) -> str:
        """The place and the values, as in ``grid point 3 (method.lambda = 0.1)``; long values are shortened."""
        shown = ", ".join(f"{path} = {_short(value)}" for path, value in self.values.items())
        return f"grid point {self.index}" + (f" ({shown})" if shown else "")


def count_points(grid: Mapping[str, Sequence[Any]]) -> int:
    """How many jobs the grid stands for."""
    return prod(len(values) for values in grid.values())


def values_at(grid: Mapping[str, Sequence[Any]], index: int) -> dict[str, Any]:
    """The value of each path at a place of the grid. The last path varies fastest."""
    found = {}
    for path, values in reversed(list(grid.items())):
        index, position = divmod(index, len(values))
        found[path] = values[position]
    return {path: found[path] for path in grid}


def check_grid(grid: Mapping[str, Sequence[Any]]) -> None:
    """Check that each path names a field and that no value occurs twice.

    Raises:
        SpecError: with one issue for each mistake.
    """
    issues = [issue for path, values in grid.items() for issue in _mistakes(path, values, grid)]
    if issues:
        raise not_valid("the grid of the study", issues)


def grid_points(spec: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> list[GridPoint]:
    """The jobs of a study, in the order of its grid: every combination of values, set into the specification.

    Objects on the way to a field are made. A part that is made so is the one that a job uses by default, or the first
    one that has the fields.

    Args:
        spec: a job specification as its user wrote it.
        grid: values by dotted path, such as ``method.lambda``. Without a path there is one job.

    Raises:
        SpecError: a path leads through a value of ``spec`` that is no object.
    """
    return [
        GridPoint(index, values := dict(zip(grid, combination, strict=True)), _with_values(spec, values))
        for index, combination in enumerate(product(*grid.values()))
    ]


def _with_values(spec: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    document = copy.deepcopy(dict(spec))
    for path, value in values.items():
        *parents, field = path.split(".")
        target = document
        for depth, key in enumerate(parents):
            if target.get(key) is None:
                target[key] = {}
            if not isinstance(target[key], dict):
                at = ".".join(parents[: depth + 1])
                raise SpecError(
                    f"grid: the path {path!r} leads through {at}, which the spec sets to {_short(target[key])}. Write "
                    f"{at} as an object, or vary {at} itself."
                )
            target = target[key]
        target[field] = copy.deepcopy(value)
    for slot in dict.fromkeys(path.split(".")[0] for path in values if "." in path):
        part = document[slot]
        name = None if "name" in part else part_of_fields(JobSpec, slot, part, DEFAULT_PARTS)
        if name is not None:
            document[slot] = {"name": name, **part}
    return document


def _mistakes(path: str, values: Sequence[Any], grid: Mapping[str, Sequence[Any]]) -> list[Issue]:
    found = []
    if not all(path.split(".")):
        found.append(Issue(("grid", path), "it is not a path. Write the names of fields with dots between them"))
    inner = next((other for other in grid if other.startswith(f"{path}.")), None)
    if inner is not None:
        found.append(Issue(("grid", path), f"it contains the path {inner!r}. Vary one of them only"))
    if len({json.dumps(value, sort_keys=True) for value in values}) != len(values):
        found.append(Issue(("grid", path), "a value is given twice. Give each value once"))
    return found


def _short(value: Any, longest: int = 60) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
