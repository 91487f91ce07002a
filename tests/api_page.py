"""The reference of the Python API, made from docstrings: ``python -m tests.api_page`` writes docs/api.md."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cnet

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"

_HEAD = """\
# Python API

Everything that `import cnet` offers, from its docstrings. `python -m tests.api_page` writes this page, and a test
compares it with the code. Names that are not here may change at any time; bundles are read by every later version.
"""

_FIRST = (
    "open_bundle",
    "Bundle",
    "load_into",
    "load_state_dict",
    "compress",
    "export_program",
    "Client",
    "AsyncClient",
)
_INHERITED = (Exception, object)


def render() -> str:
    """The text of the page."""
    names = [*_FIRST, *sorted(set(cnet.__all__) - set(_FIRST))]
    return "\n".join([_HEAD, *(line for name in names for line in _entry(name, getattr(cnet, name)))])


def _entry(name: str, member: Any) -> Iterator[str]:
    yield f"## {name}\n"
    if not inspect.isclass(member):
        yield from _function(name, member)
        return
    if issubclass(member, Exception):
        yield f"An error; a subclass of `{member.__mro__[1].__name__}`.\n"
    yield _documentation(member)
    if name == "AsyncClient":
        yield "Its methods are those of `Client`, to be awaited.\n"
        return
    for each, method in _public(member):
        if isinstance(method, property):
            yield f"### {name}.{each}\n"
            yield _documentation(method)
        else:
            yield from _function(f"{name}.{each}", method, heading=f"### {name}.{each}\n")


def _public(kind: type) -> list[tuple[str, Any]]:
    """Methods and properties of a class with a docstring, those that it inherits within cnet too, sorted by name."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("cnet"):
            members = {key: value for key, value in vars(base).items() if not key.startswith("_")}
            found |= {key: value for key, value in members.items() if isinstance(value, property) or callable(value)}
    return sorted(found.items())


def _function(name: str, function: Any, heading: str = "") -> Iterator[str]:
    if heading:
        yield heading
    signature = str(inspect.signature(function)).replace("'", "")
    yield f"```python\n{name.rpartition('.')[2]}{signature}\n```\n"
    yield _documentation(function)


def _documentation(member: Any) -> str:
    """The docstring as Markdown: its sections as lists."""
    lines = []
    for line in (inspect.getdoc(member) or "").splitlines():
        section = line.rstrip(":") if line in ("Args:", "Returns:", "Raises:", "Attributes:") else None
        text = line.replace("``", "`")
        if section:
            lines.append(f"*{section}*\n")
        elif text.startswith("    ") and not text.startswith("     "):
            lines.append(f"- {text.strip()}")
        else:
            lines.append(f"  {text.strip()}" if text.startswith("     ") else text)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render())
