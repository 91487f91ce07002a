"""Data that a caller has in memory, written to npz files, which is what a job reads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cnet.errors import DatasetError, SpecError

if TYPE_CHECKING:
    from torch import nn

Arrays = str | Path | Mapping[str, Any] | Any
"""Unlabelled inputs: the path of a file, arrays by the names of the inputs, or one array."""

Data = str | Path | Mapping[str, Any] | tuple[Any, Any]
"""A data set: a built-in name, the path of a file, arrays by the names of an npz file, or inputs and targets."""

_OF_NPZ = re.compile(r"[xy](_(train|test|validation|val))?|inputs(_(train|test|validation|val))?\..+")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def dataset_file(data: Data, path: Path) -> str:
    """The name or path of a data set; arrays are written to ``path``.

    Raises:
        SpecError: there are no targets.
        DatasetError: something is no array.
    """
    if isinstance(data, str | Path):
        return str(data)
    if not isinstance(data, tuple | Mapping):
        raise SpecError("data: they are one array, without targets. Give (x, y), or unlabelled inputs as `inputs`.")
    return _written(dict(zip(("x", "y"), data, strict=True)) if isinstance(data, tuple) else data, path)


def inputs_file(inputs: Arrays, module: nn.Module, path: Path) -> str:
    """The name or path of unlabelled inputs; arrays are written to ``path``, in the order of forward's arguments.

    Args:
        inputs: of any kind that ``Arrays`` names.
        module: takes them.
        path: of the file.

    Raises:
        SpecError: arrays have names that are neither those of forward's arguments nor those of an npz file.
        DatasetError: something is no array.
    """
    if isinstance(inputs, str | Path):
        return str(inputs)
    return _written(_by_forward(inputs, module) if isinstance(inputs, Mapping) else {"x": inputs}, path)


def _by_forward(inputs: Mapping[str, Any], module: nn.Module) -> Mapping[str, Any]:
    """The arrays under the names of an npz file: those of several inputs in the order of forward's arguments."""
    taken = [name for name, one in inspect.signature(module.forward).parameters.items() if one.kind in _POSITIONAL]
    names = taken[: len(inputs)]
    if set(names) == set(inputs):
        return {"x" if len(names) == 1 else f"inputs.{name}": inputs[name] for name in names}
    if all(map(_OF_NPZ.fullmatch, inputs)):
        return inputs
    if taken:
        raise SpecError(
            f"inputs: the arrays are named {', '.join(inputs)}, and forward takes {', '.join(taken)}. Name them as the "
            "arguments of forward, from the first one on."
        )
    return {f"inputs.{name}": values for name, values in inputs.items()}


def _written(arrays: Mapping[str, Any], path: Path) -> str:
    """The path of an npz file, to which arrays are written."""
    found: Any = {name: _array(name, values) for name, values in arrays.items()}
    np.savez(path, **found)
    return str(path)


def _array(name: str, values: Any) -> np.ndarray[Any, Any]:
    """An array of any shape from an array, a list or a tensor on any device; float32 of a tensor in bfloat16."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"{name}: no array can be made of it ({error}). Give one array or tensor with the samples along its first "
            "axis; several inputs as a dictionary of arrays, by the names of forward's arguments.",
            code="bad_shape",
        ) from error
