"""A parameter that takes one value or several: a number stands where a list may."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

ItemT = TypeVar("ItemT")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _distinct(values: tuple[ItemT, ...]) -> tuple[ItemT, ...]:
    if len(set(values)) != len(values):
        raise ValueError("a value is given twice")
    return values


Sweep = Annotated[
    tuple[ItemT, ...],
    BeforeValidator(_as_list),
    Field(min_length=1, max_length=64, strict=False),
    AfterValidator(_distinct),  # of the values as they were understood: 0 and 0.0 are one sparsity
]
