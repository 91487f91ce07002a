"""``cnet catalogue``: the parts that a job can name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Json
from app.commands.server_options import ServerOptions
from app.console.output import columns, emit_json, emit_line, note


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(rich_help_panel=ON_A_SERVER)(with_groups(catalogue))


def catalogue(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="Show only this kind of parts, such as quantizers.")
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this part with all of its parameters.")
    ] = None,
    *,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """List the parts that a job can name: those of the server, or where none is named those of this installation."""
    kinds = _kinds(server)
    shown = kinds if kind is None else {kind: _chosen(kinds, kind, "kind")}
    if name is not None and kind is not None:
        part = _chosen({one["name"]: one for one in shown[kind]}, name, "part")
        if json:
            emit_json(part)
        else:
            _print_part(part)
        return
    if json:
        emit_json(shown if kind is None else {"data": shown[kind]})
        return
    rows = [(each, one["name"], one["summary"]) for each, parts in shown.items() for one in parts]
    emit_line(columns(("KIND", "NAME", "WHAT IT IS"), rows))


def _kinds(server: ServerOptions) -> dict[str, Any]:
    """The parts by kind."""
    if server.is_given:
        with server.client() as client:
            found = client.catalogue()
        return {kind: parts for kind, parts in found.items() if isinstance(parts, list)}
    from cnet.catalogue import describe_parts

    note("the parts of this installation; --server shows those of a server")
    return dict(describe_parts())


def _chosen(options: dict[str, Any], wanted: str, what: str) -> Any:
    if wanted not in options:
        raise typer.BadParameter(f"there is no {what} {wanted!r}. Use one of: {', '.join(options)}.")
    return options[wanted]


def _print_part(part: dict[str, Any]) -> None:
    """A part with a row for each of its parameters."""
    emit_line(f"{part['name']}: {part['summary']}")
    emit_line(f"source: {part['source']}")
    properties: dict[str, Any] = part["parameters"].get("properties", {})
    if properties:
        rows = [(name, _type(one), _default(one), one.get("description", "")) for name, one in properties.items()]
        emit_line("")
        emit_line(columns(("PARAMETER", "TYPE", "DEFAULT", "MEANING"), rows))


def _type(schema: dict[str, Any]) -> str:
    """The type of a JSON Schema, with its bounds."""
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(dict.fromkeys(_type(each) for each in options))
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = " ".join(f"{sign} {schema[key]}" for key, sign in signs.items() if key in schema)
    inner = f" of {_type(schema['items'])}" if isinstance(schema.get("items"), dict) else ""
    return f"{schema.get('type', 'object')}{inner} {bounds}".strip()


def _default(schema: dict[str, Any]) -> str:
    import json

    return json.dumps(schema["default"]) if "default" in schema else ""
