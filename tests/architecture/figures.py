"""Print sizes of modules, functions and docstrings by package: ``python -m tests.architecture.figures [ROOT]``."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main(root: Path) -> None:
    """One row for each of the three packages."""
    print(
        "package  modules  most in a folder  lines  median/longest  functions  median/longest  docstring words  shapes"
    )
    for package in ("cnet", "app", "worker"):
        paths = [path for path in sorted((root / package).rglob("*.py")) if "versions" not in path.parts]
        trees = {path: ast.parse(path.read_text()) for path in paths}
        own = [path for path in paths if path.name != "__init__.py"]
        lengths = [len(path.read_text().splitlines()) for path in own]
        functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
        sizes = [(node.end_lineno or 0) - node.lineno + 1 for node in functions]
        words = [len((ast.get_docstring(node) or "").split()) for node in functions]
        arrays = [node for node in functions if takes_arrays(node) and not node.name.startswith("_")]
        shaped = sum(states_shape(node) for node in arrays)
        most = max(sum(path.parent == folder for path in own) for folder in {path.parent for path in own})
        print(
            f"{package:7}  {len(own):7}  {most:16}  {sum(lengths):5}  {median(lengths):6.0f}/{max(lengths):<7}"
            f"  {len(functions):9}  {median(sizes):6.0f}/{max(sizes):<7}  {median(words):15.0f}  {shaped}/{len(arrays)}"
        )


def takes_arrays(node: Function) -> bool:
    """Whether a parameter of the function is annotated as a NumPy array or a tensor."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return any(
        a.annotation and re.search(r"NDArray|ndarray|\bTensor\b|Vector\b", ast.unparse(a.annotation)) for a in arguments
    )


def states_shape(node: Function) -> bool:
    """Whether the docstring of the function says what shape an array has."""
    return bool(
        re.search(
            r"\bshape|\(n,|\(\w+, \w+\)|one-dimensional|any shape|same length|vector",
            ast.get_docstring(node) or "",
            re.I,
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
