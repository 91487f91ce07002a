"""Validation errors of pydantic, reworded for the person who wrote the document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from cnet.errors import Issue, SpecError
from cnet.parts.registry import OneOf, Registry

DocumentT = TypeVar("DocumentT", bound=BaseModel)

_LONGEST_VALUE = 60
_MOST_ISSUES = 5  # in a sentence

# Only the messages that pydantic words for programmers are replaced; "Input should be less than 1" is plain.
_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "union_tag_not_found": lambda _: "the field `name` is missing. Name the part to use.",
    "union_tag_invalid": lambda context: f"{context['tag']!r} is not known. Use one of: {context['expected_tags']}.",
    "missing": lambda _: "the field is missing. Give it.",
    "model_type": lambda _: "Input should be an object",
    "string_too_short": lambda context: f"it has fewer than {context['min_length']} characters. Write more.",
    "string_too_long": lambda context: f"it has more than {context['max_length']} characters. Shorten it.",
    "too_short": lambda context: f"it has too few items. Give {context['min_length']} or more.",
    "too_long": lambda context: f"it has too many items. Give {context['max_length']} at most.",
}


def parsed(document: type[DocumentT], value: Any, what: str, code: str | None = None) -> DocumentT:
    """The document of a JSON value.

    Args:
        document: the model of the document.
        value: what ``json.loads`` gives.
        what: names the document in the error.
        code: of the error; None: the code of its class.

    Raises:
        SpecError: with one issue for each mistake.
    """
    try:
        return document.model_validate(value)
    except ValidationError as error:
        raise not_valid(what, issues_of(error, document), code) from error


def not_valid(what: str, issues: Sequence[Issue], code: str | None = None) -> SpecError:
    """The error for a document with these mistakes; its arguments are those of ``parsed``."""
    return SpecError(f"{what} is not valid: {summary_of(issues)} Correct it.", code=code, issues=issues)


def summary_of(issues: Sequence[Issue]) -> str:
    """The first mistakes as sentences."""
    return " ".join(f"{issue}." for issue in issues[:_MOST_ISSUES])


def issues_of(error: ValidationError, document: type[BaseModel]) -> tuple[Issue, ...]:
    """One issue for each mistake in a document.

    Args:
        error: as pydantic raised it.
        document: the model that refused the document.

    """
    rows = error.errors(include_url=False)
    deeper = {row["loc"][:-1] for row in rows}
    # A list whose only value is refused is reported as too short as well; that is not a second mistake.
    told = [row for row in rows if not (row["type"] == "too_short" and row["loc"] in deeper)]
    return tuple(Issue(_location(row["loc"], document), _words(row, document)) for row in told)


def field_names(model: type[BaseModel]) -> tuple[str, ...]:
    """The names of a model's fields as a user writes them in JSON, sorted."""
    return tuple(sorted(info.alias or name for name, info in model.model_fields.items()))


def part_registry(annotation: Any) -> Registry[Any] | None:
    """The registry of the parts that a field takes, or None where its annotation has no ``OneOf``."""
    choice = _choice(annotation)
    return None if choice is None else choice.registry


def _choice(annotation: Any) -> OneOf | None:
    for choice in (annotation, *get_args(annotation)):
        if get_origin(choice) is Annotated:
            for metadata in choice.__metadata__:
                if isinstance(metadata, OneOf):
                    return metadata
    return None


def part_fields(model: type[BaseModel]) -> dict[str, Registry[Any]]:
    """The fields of a model that hold a part, in their order, with the registry of each."""
    found = {name: part_registry(info.annotation) for name, info in model.model_fields.items()}
    return {name: registry for name, registry in found.items() if registry is not None}


def part_of_fields(
    document: type[BaseModel], slot: str, fields: Iterable[str], defaults: Mapping[str, str]
) -> str | None:
    """The name of the part meant by an object that has fields but no ``name``.

    It is the default part of the slot, or, where that lacks one of the fields, the first in alphabetical order that has
    them all. Where no part has them it is the default as well, whose fields the error then lists.

    Args:
        document: the model that has the slot.
        slot: a field of the model, such as ``quantize``.
        fields: the fields given.
        defaults: the name of the default part of each slot that has one.

    Returns:
        None where the slot takes no parts, or has no default and nothing fits.
    """
    registry = _registry_of(document, slot)
    if registry is None:
        return None
    given, default = set(fields), defaults.get(slot)
    names = [*([default] if default else []), *registry.names()]
    return next((name for name in names if given <= set(field_names(registry.get(name)))), default)


def _location(loc: tuple[int | str, ...], document: type[BaseModel]) -> tuple[int | str, ...]:
    """The location without the names of the parts on the way, which pydantic adds and no user writes."""
    return tuple(step.name for step in _steps(loc, document) if not step.is_branch)


def _words(row: Mapping[str, Any], document: type[BaseModel]) -> str:
    kind = row["type"]
    if kind == "extra_forbidden":
        return _unknown_field(row["loc"], document)
    if kind == "union_tag_invalid" and row["input"].get("name") is None:
        kind = "union_tag_not_found"
    words = _WORDS.get(kind)
    message = words(row.get("ctx", {})) if words else str(row["msg"]).removeprefix("Value error, ")
    return f"{message}, not {_shown(row['input'])}" if message.startswith("Input should ") else message


def _shown(value: object) -> str:
    """A value of a document as its user wrote it, if it is short, and otherwise what kind of value it is."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _unknown_field(loc: Sequence[int | str], document: type[BaseModel]) -> str:
    """What to say of a field that does not exist: the fields that do, and the other parts that have it."""
    field = str(loc[-1])
    model = _model_at(loc[:-1], document)
    if model is None:
        return "there is no such field. Remove it."
    known = field_names(model)
    words = f"there is no such field. Use {'one of ' if len(known) > 1 else ''}{', '.join(known)}"
    registry = _registry_of(document, str(loc[0])) if len(loc) == 3 else None
    others = [] if registry is None else [name for name in registry.names() if field in field_names(registry.get(name))]
    if registry is not None and others:
        words += f", or a {registry.kind} that has {field}: {', '.join(others)}"
    return f"{words}."


def _model_at(loc: Sequence[int | str], document: type[BaseModel]) -> type[BaseModel] | None:
    """The model whose fields stand at pydantic's location ``loc``, or None where there is no model."""
    model: type[BaseModel] | None = document
    for step in _steps(loc, document):
        model = step.model
    return model


@dataclass(frozen=True)
class _Step:
    """One element of a location.

    Attributes:
        name: the field, the position in a list, or the branch of a union of parts.
        is_branch: whether it is such a branch.
        model: the document that it leads to; None for another value.
    """

    name: int | str
    is_branch: bool
    model: type[BaseModel] | None


def _steps(loc: Sequence[int | str], document: type[BaseModel]) -> Iterator[_Step]:
    """The elements of pydantic's location ``loc``, from the outermost document inwards."""
    model: type[BaseModel] | None = document
    parts: OneOf | None = None
    for name in loc:
        is_branch = parts is not None
        if parts is not None:
            model, parts = parts.document(str(name)), None
        elif model is not None:
            annotation = _annotation(model, name)
            model, parts = _model_in(annotation), _choice(annotation)
        yield _Step(name, is_branch, model)


def _registry_of(model: type[BaseModel], field: str) -> Registry[Any] | None:
    return part_registry(_annotation(model, field))


def _annotation(model: type[BaseModel], field: int | str) -> Any:
    """The annotation of a field by its name in JSON; None where there is no such field."""
    found = (info for name, info in model.model_fields.items() if field in (name, info.alias))
    return next(map(_whole_annotation, found), None)


def _whole_annotation(info: FieldInfo) -> Any:
    """The annotation of a field, with the ``OneOf`` that pydantic keeps beside it where it stands outermost."""
    choice = next((each for each in info.metadata if isinstance(each, OneOf)), None)
    return info.annotation if choice is None else Annotated[info.annotation, choice]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    choices = (annotation, *get_args(annotation))
    return next((each for each in choices if isinstance(each, type) and issubclass(each, BaseModel)), None)
