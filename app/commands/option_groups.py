"""Groups of options: a dataclass whose fields are options, which several commands take as one argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """``command`` with the fields of each group among its arguments in place of the group.

    A group is a dataclass, and the argument for it is given by name. Each of its fields is annotated as an option of
    Typer and has a default. Typer sees the options, and the command gets an object of the dataclass.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {name: group for name, each in signature.parameters.items() if (group := _group(each.annotation))}
    options = {name: _options(group) for name, group in groups.items()}

    @wraps(command)
    def run(**values: Any) -> Any:
        given = {name: group(**{key: values.pop(key) for key in options[name]}) for name, group in groups.items()}
        return command(**values, **given)

    parameters = [
        option for name, each in signature.parameters.items() for option in options.get(name, {name: each}).values()
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # inspect reads it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _group(annotation: Any) -> type[Any] | None:
    return annotation if inspect.isclass(annotation) and is_dataclass(annotation) else None


def _options(group: type[Any]) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return {
        each.name: inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=_default(each), annotation=hints[each.name]
        )
        for each in fields(group)
    }


def _default(field: Field[Any]) -> Any:
    if field.default is MISSING:
        raise TypeError(f"option {field.name}: the field has no default. Give it one: the option may be left out.")
    return field.default
