"""Operators that do not check their arguments themselves, wrapped in functions that do.

``aten.lstm`` writes beyond its buffers when a state has another batch size than the input, and ``_weight_norm`` reads
beyond them when its two arguments do not fit: both are called only after their shapes were checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from cnet.errors import DatasetError, ProgramError
from cnet.models.programs import Program

_MOST_LAYERS = 64


def checked_lstm(  # noqa: PLR0913 - the operator's own arguments
    inputs: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """``aten.lstm.input`` on arguments whose shapes fit.

    Args:
        inputs: shape (steps, batch, features), or (batch, steps, features) where ``batch_first``.
        states: hidden and cell state, each of shape (layers * directions, batch, hidden).
        weights: for each layer and direction shapes (4 * hidden, features) and (4 * hidden, hidden), then, where
            ``biases``, two of (4 * hidden,).
        biases: whether there are biases.
        layers: number of layers, at most 64.
        dropout: probability of dropout between layers.
        train: whether dropout is active.
        bidirectional: whether each layer runs both ways.
        batch_first: which of the two shapes the input has.

    Raises:
        ProgramError: (``program_shape``) a shape or an element type does not fit.
    """
    directions, each = 1 + bidirectional, 4 if biases else 2
    _need(
        inputs.dim() == 3 and 0 < layers <= _MOST_LAYERS and len(states) == 2,
        "lstm",
        "its input or its number of layers",
    )
    _need(len(weights) == layers * directions * each, "lstm", f"its number of weights, {len(weights)}")
    _need(all(state.dim() == 3 for state in states), "lstm", "its states")
    batch, hidden = inputs.shape[0 if batch_first else 1], states[0].shape[2]
    expected = (layers * directions, batch, hidden)
    _need(
        all(tuple(state.shape) == expected for state in states),
        "lstm",
        f"its states, which are not of shape {expected}",
    )
    _need(
        all(one.dtype == inputs.dtype and one.device == inputs.device for one in [*states, *weights]),
        "lstm",
        "its element types",
    )
    _check_lstm_weights(weights, layers, directions, features=inputs.shape[2], hidden=hidden)
    result: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.lstm.input(
        inputs, states, weights, biases, layers, dropout, train, bidirectional, batch_first
    )
    return result


def _check_lstm_weights(weights: Sequence[Tensor], layers: int, directions: int, *, features: int, hidden: int) -> None:
    """Check the weights of each layer and direction; ``features`` is the size of the first layer's input."""
    each = len(weights) // (layers * directions)
    for block in range(layers * directions):
        size = features if block < directions else hidden * directions
        shapes = [tuple(one.shape) for one in weights[block * each : (block + 1) * each]]
        biases = all(shape == (4 * hidden,) for shape in shapes[2:])
        fits = shapes[:2] == [(4 * hidden, size), (4 * hidden, hidden)] and biases
        _need(fits, "lstm", f"its weights of block {block}, {shapes}")


def checked_weight_norm(direction: Tensor, length: Tensor, dim: int = 0) -> Tensor:
    """``aten._weight_norm`` on arguments whose shapes fit.

    Args:
        direction: any shape of two dimensions or more.
        length: the size of ``direction`` along ``dim`` and 1 elsewhere.
        dim: the first or the last dimension.

    Raises:
        ProgramError: (``program_shape``) a shape or an element type does not fit.
    """
    _need(direction.dim() >= 1 and dim in (0, direction.dim() - 1), "weight_norm", f"its dimension {dim}")
    expected = tuple(size if axis == dim else 1 for axis, size in enumerate(direction.shape))
    _need(
        tuple(length.shape) == expected and length.dtype == direction.dtype,
        "weight_norm",
        f"its length, which is not of shape {expected}",
    )
    result: Tensor = torch.ops.aten._weight_norm.default(direction, length, dim)
    return result


CHECKED: dict[str, Callable[..., Any]] = {
    "aten.lstm.input": checked_lstm,
    "aten._weight_norm.default": checked_weight_norm,
}
"""The functions above by the operator that they stand for."""


def check_inputs(program: Program, inputs: Sequence[Tensor]) -> None:
    """Compare number, element types and sizes of the inputs with those of the program.

    Args:
        program: what states them.
        inputs: of any shape, in the order of the program's inputs.

    Raises:
        ProgramError: (``program_shape``) stating both.
    """
    if len(inputs) != len(program.inputs):
        raise ProgramError(
            f"program: it takes {len(program.inputs)} inputs and is given {len(inputs)}. "
            "Give one array for each input.",
            code="program_shape",
        )
    sizes: dict[str, int] = {}
    for expected, given in zip(program.inputs, inputs, strict=True):
        dtype = str(given.dtype).removeprefix("torch.")
        fits = dtype == expected.dtype and given.dim() == len(expected.shape)
        for size, found in zip(expected.shape, given.shape, strict=False):
            if isinstance(size, str):
                low, high = program.ranges.get(size, (0, None))
                fits = (
                    fits and sizes.setdefault(size, found) == found and low <= found and (high is None or found <= high)
                )
            else:
                fits = fits and size in (None, found)
        if not fits:
            shape = ", ".join("any" if size is None else str(size) for size in expected.shape)
            raise ProgramError(
                f"input {expected.name!r}: the program takes {expected.dtype} of shape ({shape}) and is "
                f"given {dtype} of shape "
                f"{tuple(given.shape)}. Give inputs as the program was exported for, or export it with dynamic sizes.",
                code="program_shape",
            )


@contextmanager
def index_errors_named() -> Iterator[None]:
    """Turn an IndexError of the block, which runs a program, into a DatasetError (``ids_out_of_range``)."""
    try:
        yield
    except IndexError as error:
        raise DatasetError(
            f"data set: its inputs hold an id for which a table of the network has no row ({error}). Correct the ids.",
            code="ids_out_of_range",
        ) from error


def _need(fits: bool, operator: str, what: str) -> None:
    if not fits:
        raise ProgramError(
            f"operator {operator}: {what} do not fit together. Export the module again.", code="program_shape"
        )
