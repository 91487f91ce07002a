"""Modules and functions that fit on a screen or two."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.repository import ROOT, modules

MODULE_LINES = 300
FUNCTION_LINES = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_short(path: Path) -> None:
    """A module has fewer than 300 lines; a function at most 40, docstring apart."""
    text = path.read_text()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, Function)]

    assert len(text.splitlines()) < MODULE_LINES
    assert [f"{node.name}: {lines(node)}" for node in functions if lines(node) > FUNCTION_LINES] == []


def lines(node: Function) -> int:
    """Lines of a function's signature and body, without its docstring."""
    assert node.end_lineno is not None
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return node.end_lineno - node.lineno + 1 - docstring
