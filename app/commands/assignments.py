"""``--set PATH=VALUE``: one field of a job specification, given on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import typer


@dataclass(frozen=True)
class Assignment:
    """One field and its value.

    Attributes:
        path: keys from the root of the specification to the field, such as ``("prune", "sparsity")``.
        value: the JSON value that the field gets.

    """

    path: tuple[str, ...]
    value: Any

    @classmethod
    def parse(cls, text: str) -> Assignment:
        """The assignment that ``text``, such as ``prune.sparsity=[0.9,0.95]``, stands for.

        The value is read as JSON; text that is no JSON is a string.

        Raises:
            typer.BadParameter: there is no ``=``, or a key of the path is empty.

        """
        name, equals, value = text.partition("=")
        path = tuple(key.strip() for key in name.split("."))
        if not equals or not all(path):
            raise typer.BadParameter(
                f"{text!r} is not of the form PATH=VALUE. Write for example --set prune.sparsity=0.9.",
                param_hint="--set",
            )
        return cls(path, _json_or_text(value))

    def apply(self, document: dict[str, Any]) -> None:
        """Set the field in ``document``; objects on the way to it are made, and take the place of other values."""
        *parents, field = self.path
        target = document
        for key in parents:
            if not isinstance(target.get(key), dict):
                target[key] = {}
            target = target[key]
        target[field] = self.value


def part_names() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each field of the specification that takes a part, and the names of the parts that are installed for it."""
    from cnet.parts.validation import part_registry
    from cnet.spec import JobSpec

    for slot, info in JobSpec.model_fields.items():
        registry = part_registry(info.annotation)
        if registry is not None:
            yield slot, registry.names()


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and infinities are no JSON
