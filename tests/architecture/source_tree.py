"""The project's own code as syntax trees: definitions, docstrings, array arguments and error messages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.repository import ROOT, modules

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef | ast.Module

_ARRAY = re.compile(r"\b(NDArray|ndarray|Tensor)\b")
_SHAPE = re.compile(r"arguments as |[Aa]s in ``|\bshapes?\b|\([a-z_]+,\)|\([a-z_]+(, [a-z_]+)+\)", re.IGNORECASE)


@dataclass(frozen=True)
class Definition:
    """A module, class or function with the file and the dotted name that it is found by."""

    path: Path
    name: str
    node: Documented

    def __str__(self) -> str:
        line = getattr(self.node, "lineno", 1)
        return f"{self.path.relative_to(ROOT)}:{line}: {self.name}"

    @property
    def docstring(self) -> str:
        """The cleaned docstring, empty where there is none."""
        return ast.get_docstring(self.node) or ""

    @property
    def is_public(self) -> bool:
        """Whether no part of the dotted name begins with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text())


def definitions(root: Path = ROOT) -> Iterator[Definition]:
    """Every module, class, method and function of the three packages, migrations and overloads apart.

    The overloads of a function are its types; the function itself has the docstring.
    """
    for path in modules(root):
        if "migrations" not in path.parts:
            yield from _within(path, "", tree_of(path))


def _within(path: Path, prefix: str, node: Documented) -> Iterator[Definition]:
    yield Definition(path, prefix or path.stem, node)
    if isinstance(node, Function):
        return
    for child in node.body:
        if isinstance(child, Function | ast.ClassDef) and not _is_overload(child):
            yield from _within(path, f"{prefix}.{child.name}".lstrip("."), child)


def _is_overload(node: Documented) -> bool:
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in decorators)


@cache
def array_types(root: Path = ROOT) -> frozenset[str]:
    """Names that annotations use for arrays: those of NumPy and PyTorch, and the project's aliases of them."""
    names = set()
    for path in modules(root):
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = ast.unparse(node.value)
                if _ARRAY.search(value) and value.startswith(("npt.", "np.", "torch.")):
                    names.add(node.targets[0].id)
    return frozenset(names | {"NDArray", "ndarray", "Tensor"})


def array_arguments(definition: Definition, types: frozenset[str]) -> list[str]:
    """Names of the parameters of a function that are arrays, or collections of arrays."""
    function = definition.node
    assert isinstance(function, Function)
    if definition.path.name == "weights.py" or "from cnet.weights import" in definition.path.read_text():
        types = types - {"Tensor"}  # a named tensor of a checkpoint, which knows its shape
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [
        argument.arg
        for argument in arguments
        if argument.annotation and types & set(re.findall(r"\w+", ast.unparse(argument.annotation)))
    ]


def states_shapes(docstring: str) -> bool:
    """Whether a docstring says what shape arrays have: by the word, a tuple such as ``(n,)``, or where it is said."""
    return bool(_SHAPE.search(docstring))


@dataclass(frozen=True)
class Message:
    """The text of one error, with ``{}`` for each value, where it is raised, and the exception's name."""

    path: Path
    line: int
    function: str
    exception: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.exception}: {self.text}"


def messages() -> Iterator[Message]:
    """Every ``raise Exception("text")`` and ``return SomeError("text")`` whose text is written in place.

    ``raise damaged("text")`` of a function of the project is not among them: its own ``return`` is.
    """
    for definition in definitions():
        if isinstance(definition.node, Function):
            constants = _text_constants(tree_of(definition.path))
            for node in ast.walk(definition.node):
                made = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Return) else None
                if isinstance(made, ast.Call) and _is_exception(name := ast.unparse(made.func).rpartition(".")[2]):
                    text = next(filter(None, (_text_of(argument, constants) for argument in made.args)), None)
                    if text is not None:
                        yield Message(definition.path, node.lineno, definition.name, name, text)


def _is_exception(name: str) -> bool:
    return name.endswith(("Error", "Exit", "Parameter"))


def _text_constants(tree: ast.Module) -> dict[str, str]:
    """Texts that a module names at its top, by name."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text_of(node: ast.expr, constants: Mapping[str, str]) -> str | None:
    """A string as it is written, with ``{}`` for each value that is put into it; None for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.FormattedValue):
        return _text_of(node.value, constants) or "{}"
    if isinstance(node, ast.JoinedStr):
        return "".join(_text_of(part, constants) or "" for part in node.values)
    if isinstance(node, ast.BinOp):
        left, right = _text_of(node.left, constants), _text_of(node.right, constants)
        return None if left is None and right is None else (left or "{}") + (right or "{}")
    return None
