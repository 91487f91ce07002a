"""Print sizes of modules, functions and docstrings by package: ``python -m tests.architecture.figures [ROOT]``."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from tests.architecture.source_tree import (
    Definition,
    Function,
    array_arguments,
    array_types,
    definitions,
    states_shapes,
)
from tests.repository import PACKAGES, ROOT, modules

_COLUMNS = ("package", "modules", "most a folder", "lines", "module", "functions", "function", "docstring", "shapes")


def main(root: Path) -> None:
    """Print one row for each package; median and maximum of lines, median words of a docstring, shapes stated."""
    print("".join(f"{column:>15}" for column in _COLUMNS))
    for package in PACKAGES:
        print("".join(f"{cell:>15}" for cell in _row(package, root)))


def _row(package: str, root: Path) -> list[str]:
    own = [path for path in modules(root) if path.is_relative_to(root / package) and path.name != "__init__.py"]
    lengths = [len(path.read_text().splitlines()) for path in own]
    functions = [one for one in definitions(root) if isinstance(one.node, Function) and one.path in set(own)]
    sizes = [(one.node.end_lineno or 0) - one.node.lineno + 1 for one in functions if isinstance(one.node, Function)]
    words = [len(one.docstring.split()) for one in functions if one.docstring]
    arrays = [one for one in functions if one.is_public and array_arguments(one, array_types(root))]
    most = max(sum(path.parent == folder for path in own) for folder in {path.parent for path in own})
    shaped = sum(map(_has_shapes, arrays))
    return [
        *(package, str(len(own)), str(most), str(sum(lengths)), f"{median(lengths):.0f}/{max(lengths)}"),
        *(str(len(functions)), f"{median(sizes):.0f}/{max(sizes)}", f"{median(words):.0f}", f"{shaped}/{len(arrays)}"),
    ]


def _has_shapes(definition: Definition) -> bool:
    return states_shapes(definition.docstring)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
