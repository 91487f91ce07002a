"""How a part (transform, method, pruner, quantizer, encoder, architecture, data set) makes itself known.

A part is a frozen pydantic model whose fields are its parameters, in one file named after it, registered by a
decorator in that file. Adding a part is adding a file: the registry imports the folder on first use, and
catalogue, validation and the API's schemas follow from ``Registry.describe``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from cnet.errors import SpecError


class Strict(BaseModel):
    """Base of every document we accept: frozen, no unknown field, no coercion, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=True)


class Asked(Strict):
    """Base of what a user asks for. As many JSON clients send null for what is not set, null means the default.

    Where null is a value of the field's own it stays; a field without a default refuses it.
    """

    @model_validator(mode="wrap")  # around a part's own validators, which see the document without such nulls
    @classmethod
    def _null_means_the_default(cls, document: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(document, dict):
            return handler(document)
        unset = {
            name
            for field, info in cls.model_fields.items()
            for name in (field, info.alias)
            if not info.is_required() and not _takes_none(info.annotation)
        }
        return handler({name: value for name, value in document.items() if value is not None or name not in unset})


class Part(Asked):
    """Base of all parts. A subclass declares ``name: Literal["its_name"] = "its_name"``.

    ``summary`` is one sentence for the catalogue; ``source`` is the paper or the standard it comes from.
    """

    summary: ClassVar[str]
    source: ClassVar[str]


PartT = TypeVar("PartT", bound=Part)


class Registry(Generic[PartT]):
    """The parts of one kind, found in one package.

    Args:
        kind: the word for messages, such as ``"pruner"``.
        package: the package whose modules each register one part (or a family of them).
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._parts: dict[str, type[PartT]] = {}
        self._discovered = False

    def register(self, *names: str) -> Callable[[type[PartT]], type[PartT]]:
        """Class decorator: make a part known under each of ``names``."""

        def add(part: type[PartT]) -> type[PartT]:
            for name in names:
                if self._parts.setdefault(name, part) is not part:
                    raise ValueError(f"{self.kind} {name!r} is registered twice")
            return part

        return add

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        self._discover()
        return tuple(sorted(self._parts))

    def get(self, name: str) -> type[PartT]:
        """The class registered as ``name``. Raises SpecError naming the known ones."""
        self._discover()
        try:
            return self._parts[name]
        except KeyError:
            known = ", ".join(self.names())
            raise SpecError(f"there is no {self.kind} {name!r}; known: {known}") from None

    def create(self, name: str, **parameters: Any) -> PartT:
        """An instance of the part registered as ``name``."""
        part: Callable[..., PartT] = self.get(name)
        return part(name=name, **parameters)

    def describe(self) -> list[dict[str, Any]]:
        """The catalogue's rows: ``{name, summary, source, parameters: JSON Schema}``, sorted by name."""
        return [self._describe(name) for name in self.names()]

    def _describe(self, name: str) -> dict[str, Any]:
        part = self.get(name)
        schema = part.model_json_schema(by_alias=True)
        schema.get("properties", {}).pop("name", None)
        schema.pop("title", None)
        return {"name": name, "summary": part.summary, "source": part.source, "parameters": schema}

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{self.package}.{module.name}")


@dataclass(frozen=True)
class OneOf:
    """Annotation of a pydantic field that holds one part of a registry, chosen by its ``name``.

    ``prune: Annotated[Pruner, OneOf(PRUNERS)]`` validates ``{"name": "magnitude", ...}`` into that class, with error
    locations that reach into the part.
    """

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """One branch a registered name."""
        names = self.registry.names()
        choices = {name: handler.generate_schema(self.registry.get(name)) for name in names}
        return core_schema.tagged_union_schema(choices, discriminator="name")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The union's own JSON Schema (a plain ``oneOf``)."""
        return handler(schema)


def _takes_none(annotation: Any) -> bool:
    return annotation is NoneType or NoneType in get_args(annotation)


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
