"""Registries: how a part (transform, training method, pruner, quantizer, encoder, ...) becomes known by its name.

A part is a frozen pydantic model whose fields are its parameters. It lives in one file and is registered there by a
decorator::

    @PRUNERS.register("mine")
    class Mine(Pruner):
        summary: ClassVar[str] = "Keeps what is mine."
        source: ClassVar[str] = "a paper"
        name: Literal["mine"] = "mine"

The file is either a module in the package of its kind (``cnet/prune/mine.py``) or belongs to a plug-in
(``cnet.plugins``). Nothing else has to be edited: catalogue, validation, and the schemas of the API follow from
``Registry.describe``.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from cnet.documents import UserDocument
from cnet.errors import SpecError
from cnet.parts.plugins import load_plugins


class Part(UserDocument):
    """Base of all parts. A subclass declares the three attributes below and is registered under its name.

    ``name`` is a field of the type ``Literal["its_name"]``, with that value as default. ``summary`` is one sentence
    for the catalogue. ``source`` is the paper or the standard that the part comes from.
    """

    summary: ClassVar[str]
    source: ClassVar[str]
    name: str


PartT = TypeVar("PartT", bound=Part)

_BARE_NAME = "(name)"  # tags of branches that are not a part: parts have no parentheses in their names
_UNKNOWN = "(unknown)"


class Registry(Generic[PartT]):
    """The parts of one kind by name. The first read imports the kind's own modules, then all plug-ins.

    Args:
        kind: the word for one such part in messages, such as ``"pruner"``.
        package: the package whose modules each register one part, or one family of parts. Modules whose names begin
            with an underscore are skipped.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._parts: dict[str, type[PartT]] = {}
        self._lock = threading.RLock()  # a module that is being imported may read the registry
        self._imported = False

    def register(self, *names: str) -> Callable[[type[PartT]], type[PartT]]:
        """Class decorator that makes a part known under each of ``names``.

        Raises:
            ValueError: a name is taken, or the class lacks what every part declares.
        """

        def add(part: type[PartT]) -> type[PartT]:
            if not part.__module__.startswith(f"{self.package}."):
                self._import_own()  # so that a plug-in, not the built-in part, is told that a name is taken
            for name in names:
                self._check(name, part)
                self._parts[name] = part
            return part

        return add

    def names(self) -> tuple[str, ...]:
        """All names, sorted. Raises PluginError where a plug-in is broken."""
        self._import_own()
        load_plugins()
        return tuple(sorted(self._parts))

    def get(self, name: str) -> type[PartT]:
        """The class registered as ``name``.

        Raises:
            SpecError: there is none.
            PluginError: a plug-in is broken.
        """
        known = self.names()
        if name not in self._parts:
            raise SpecError(f"{self.kind} {name!r}: this name is not known. Use one of: {', '.join(known)}.")
        return self._parts[name]

    def create(self, name: str, **parameters: Any) -> PartT:
        """An instance of the part registered as ``name``. Raises as ``get``, and ValidationError."""
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

    def _check(self, name: str, part: type[PartT]) -> None:
        label, described = f"{self.kind} {name!r}", f"{part.__module__}.{part.__qualname__}"
        other = self._parts.get(name, part)
        if other is not part:
            taken = f"{other.__module__}.{other.__qualname__}"
            raise ValueError(f"{label}: {described} and {taken} both have this name. Rename one of them.")
        missing = [attribute for attribute in ("summary", "source") if not hasattr(part, attribute)]
        if missing:
            raise ValueError(f"{label}: {described} declares no {' and no '.join(missing)}. Add the class attribute.")
        field = part.model_fields.get("name")
        if field is None or name not in get_args(field.annotation):
            raise ValueError(f'{label}: {described} has no such field. Declare `name: Literal["{name}"] = "{name}"`.')

    def _import_own(self) -> None:
        """Import the modules of the kind's own package, once."""
        with self._lock:
            if self._imported:
                return
            self._imported = True
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                if not module.name.startswith("_"):
                    importlib.import_module(f"{self.package}.{module.name}")


@dataclass(frozen=True)
class OneOf:
    """Annotation of a pydantic field that holds one part of a registry, chosen by its ``name``.

    ``prune: Annotated[Pruner, OneOf(PRUNERS)]`` validates ``{"name": "magnitude", ...}`` into that class. Errors name
    the field inside the part.

    Attributes:
        registry: the parts.
        others: documents that the field takes as well, each recognized by the field that it declares first.
        bare_names: whether the name alone may stand for a part without parameters, ``"magnitude"``.
    """

    registry: Registry[Any]
    others: tuple[type[BaseModel], ...] = ()
    bare_names: bool = False

    def document(self, tag: str) -> type[BaseModel] | None:
        """The class of a branch of the union; None where the branch is no document, but a name."""
        return None if tag in (_BARE_NAME, _UNKNOWN) else self._by_field.get(tag) or self.registry.get(tag)

    @property
    def _by_field(self) -> dict[str, type[BaseModel]]:
        return {next(iter(other.model_fields)): other for other in self.others}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A union with one branch for each registered name, and one for each other document."""
        names = self.registry.names()
        choices = {name: handler.generate_schema(self.registry.get(name)) for name in names}
        if not self.others and not self.bare_names:
            return core_schema.tagged_union_schema(choices, discriminator="name")
        choices |= {tag: handler.generate_schema(other) for tag, other in self._by_field.items()}
        choices[_BARE_NAME] = core_schema.chain_schema(
            [core_schema.str_schema(), core_schema.no_info_plain_validator_function(self._named)]
        )
        choices[_UNKNOWN] = core_schema.no_info_after_validator_function(self._refuse, core_schema.any_schema())
        return core_schema.tagged_union_schema(choices, discriminator=self._tag)

    def _tag(self, value: Any) -> str | None:
        """The branch for a value; None where it names none."""
        if isinstance(value, str) and self.bare_names:
            return _BARE_NAME
        if isinstance(value, dict):
            if value.get("name") is None:
                return next((tag for tag in self._by_field if tag in value), None)
            return value["name"] if value["name"] in self.registry.names() else _UNKNOWN
        name = getattr(value, "name", None)  # a part that exists already
        return (
            name
            if isinstance(name, str)
            else next((tag for tag, other in self._by_field.items() if type(value) is other), None)
        )

    def _named(self, name: str) -> Part:
        part: Part = self.registry.create(name) if name in self.registry.names() else self._refuse({"name": name})
        return part

    def _refuse(self, value: dict[str, Any]) -> NoReturn:
        known = ", ".join(map(repr, self.registry.names()))
        raise ValueError(f"there is no {self.registry.kind} {str(value['name'])[:60]!r}. Use one of: {known}.")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The JSON Schema of the union, a plain ``oneOf``."""
        document = handler(schema)
        if "oneOf" in document:
            document["oneOf"] = [branch for branch in document["oneOf"] if branch]  # without that of unknown names
        return document
