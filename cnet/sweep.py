"""A parameter that takes one value or several: a number stands where a list may."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

ItemT = TypeVar("ItemT")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _distinct(value: Any) -> Any:
    if isinstance(value, list | tuple) and len({repr(item) for item in value}) != len(value):
        raise ValueError("a value is given twice")
    return value


Sweep = Annotated[
    tuple[ItemT, ...],
    BeforeValidator(_distinct),
    BeforeValidator(_as_list),
    Field(min_length=1, max_length=64, strict=False),
]
