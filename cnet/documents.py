"""Base classes of all JSON documents that the library reads, and the field type for one value or a list of values."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    model_validator,
)

ItemT = TypeVar("ItemT")


class StrictDocument(BaseModel):
    """A frozen document that refuses unknown fields, values of another type, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=True)


class UserDocument(StrictDocument):
    """A document that a user writes: null stands for the default, because many JSON clients send null for "not set".

    A null stays where the field itself allows null. A field without a default refuses it.
    """

    @model_validator(mode="wrap")  # "wrap" runs before the validators of subclasses, which then see no such null
    @classmethod
    def _replace_null_by_default(cls, document: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(document, dict):
            return handler(document)
        nullable = {
            name
            for field, info in cls.model_fields.items()
            for name in (field, info.alias)
            if not info.is_required() and not _allows_null(info.annotation)
        }
        return handler({name: value for name, value in document.items() if value is not None or name not in nullable})


def _allows_null(annotation: Any) -> bool:
    return annotation is NoneType or NoneType in get_args(annotation)


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _check_distinct(values: tuple[ItemT, ...]) -> tuple[ItemT, ...]:
    if len(set(values)) != len(values):
        raise ValueError("list: a value is given twice. Give each value once.")
    return values


Sweep = Annotated[
    tuple[ItemT, ...],
    BeforeValidator(_as_list),
    Field(min_length=1, max_length=64, strict=False),
    AfterValidator(_check_distinct),  # after the conversion: 0 and 0.0 are one sparsity
]
"""The type of a field that takes one value or a list of 1 to 64 distinct values."""
