"""Folders that are read at one glance, and names that stay inside them."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.architecture.source_tree import tree_of
from tests.repository import PACKAGES, ROOT, modules

MOST_MODULES = 15


def test_a_folder_holds_few_modules() -> None:
    """At most 15 beside ``__init__``."""
    counts = Counter(path.parent for path in modules() if path.name != "__init__.py")

    assert {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_private_modules_are_imported_inside_their_folder_only() -> None:
    """A module or name that begins with an underscore is not imported from another folder."""
    crossing = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {module}"
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in _private_modules(node)
        if _folder_of(module) != path.parent
    ]

    assert crossing == []


def test_tests_do_not_patch_private_names() -> None:
    """What a test changes is an argument: it sets no attribute whose name begins with an underscore."""
    patched = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)[:80]}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"setattr", "patch"}
        if any(
            isinstance(a, ast.Constant) and isinstance(a.value, str) and "_" in (a.value.rpartition(".")[2][:1])
            for a in node.args
        )
    ]

    assert patched == []


def _private_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Dotted names of private modules and names of the three packages that a statement imports."""
    names = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else [f"{node.module}.{alias.name}" for alias in node.names]
    )
    return [
        name for name in names if name.split(".")[0] in PACKAGES and any(_is_private(part) for part in name.split("."))
    ]


def _is_private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def _folder_of(module: str) -> Path:
    """The folder of the first private name in a dotted name, or of the module that holds it."""
    parts = module.split(".")
    first = next(index for index, part in enumerate(parts) if _is_private(part))
    owner = ROOT.joinpath(*parts[:first])
    return owner if owner.is_dir() else owner.parent
