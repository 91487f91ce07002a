"""Outputs that a graph ends in a softmax or a sigmoid, and the graph that gives what goes into it: logits.

Operators that move numbers without changing them may follow the activation, such as a view. In-place operators that
change the numbers afterwards hide it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from cnet.models.programs.document import Activation, Argument, Call, Graph, Option, Program, Reference

Sizes = tuple[int | str | None, ...]

_SOFTMAX = frozenset({"aten.softmax.int", "aten._softmax.default"})
_SIGMOID, _SIGMOID_IN_PLACE = "aten.sigmoid.default", "aten.sigmoid_.default"
_ACTIVATIONS = _SOFTMAX | {_SIGMOID, _SIGMOID_IN_PLACE}

_DETACH = "aten.detach.default"
_SAME_SHAPE = frozenset(
    [
        _DETACH,
        *("aten.alias.default", "aten.clone.default", "aten.contiguous.default", "aten.lift_fresh_copy.default"),
        *("aten.to.device", "aten.to.dtype", "aten.to.dtype_layout"),
    ]
)
_SAME_ORDER = frozenset(
    f"aten.{name}"
    for name in [
        *("flatten.using_ints", "reshape.default", "squeeze.default", "squeeze.dim", "squeeze.dims"),
        *("unflatten.int", "unsqueeze.default", "view.default"),
    ]
)
"""Operators that keep the order of the numbers in memory, and divide it into axes anew."""

_SWAPS = frozenset({"aten.transpose.int", "aten.swapaxes.default"})
_PERMUTES = frozenset({"aten.permute.default", "aten.t.default", *_SWAPS})
_MOVES = _SAME_SHAPE | _SAME_ORDER | _PERMUTES


@dataclass(frozen=True)
class _Ending:
    """The last calls of an output, by their positions in the graph.

    Attributes:
        activation: the softmax or sigmoid.
        moves: what follows it, in order.
    """

    name: Literal["softmax", "sigmoid"]
    activation: int
    moves: tuple[int, ...]


def activation_of(graph: Graph, output: int, shape_of: Callable[[str], Sizes | None]) -> Activation | None:
    """The activation that an output of a graph ends in; None where there is none, or its axis cannot be followed.

    Args:
        graph: the calls.
        output: number of the output.
        shape_of: the shape of a value; None where it is not known.
    """
    ending = _ending(graph, output)
    if ending is None:
        return None
    if ending.name == "sigmoid":
        return Activation(name="sigmoid")
    softmax = graph.calls[ending.activation]
    axis, shape = _number(softmax, 1, "dim"), _shape_after(graph, ending, shape_of)
    if axis is None or not shape or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    for position in ending.moves:
        call, before = graph.calls[position], shape
        after = shape if call.target in _SAME_SHAPE else shape_of(call.results[0] or "")
        moved = None if after is None else _moved(axis, call, before, after)
        if moved is None or after is None:
            return None
        axis, shape = moved, after
    return Activation(name="softmax", axis=axis)


def with_gradient(program: Program, output: int) -> Program:
    """The program with an output that has a gradient, also where it was exported under ``torch.no_grad``.

    Args:
        program: the numbers that it gives stay as they are.
        output: number of the output.
    """
    train = program.train_graph
    update = {
        "graph": _attached(program.graph, output),
        "train_graph": None if train is None else _attached(train, output),
    }
    return program.model_copy(update=update)


def _attached(graph: Graph, output: int) -> Graph:
    """The graph without detaching among the last calls of an output, before and after its activation."""
    made = _made(graph)
    calls = list(graph.calls)
    value: str | None = graph.outputs[output]
    while value in made and (call := calls[made[value]]).target in _MOVES | _ACTIVATIONS:
        if call.target == _DETACH:
            calls[made[value]] = call.model_copy(update={"target": "aten.alias.default"})
        value = _first(call)
    return graph.model_copy(update={"calls": tuple(calls)})


def without_activation(program: Program, output: int) -> Program:
    """The program with an output that lacks the activation at its end: logits in place of probabilities.

    The graph for training is changed likewise, where it ends in the same activation.

    Args:
        program: the output has an ``activation``.
        output: its number.
    """
    activation = program.outputs[output].activation
    if activation is None:
        return program
    train = program.train_graph
    update = {
        "graph": _without(program.graph, output, activation.name),
        "train_graph": None if train is None else _without(train, output, activation.name),
    }
    return program.model_copy(update=update)


def _without(graph: Graph, output: int, name: str) -> Graph:
    """The graph whose output is made of what goes into the activation, by the same moves as before."""
    ending = _ending(graph, output)
    if ending is None or ending.name != name:
        return graph
    calls = list(graph.calls)
    activation = calls[ending.activation]
    if activation.target == _SIGMOID_IN_PLACE:
        calls[ending.activation] = activation.model_copy(update={"target": _SIGMOID})
    value = _first(activation) or ""
    free = 1 + max(int(one[1:]) for call in calls for one in call.results if one is not None)
    for number, position in enumerate(ending.moves, free):
        call = calls[position]
        update = {"args": (Reference(ref=value), *call.args[1:]), "results": (f"v{number}",)}
        calls.append(call.model_copy(update=update))
        value = f"v{number}"
    outputs = (*graph.outputs[:output], value, *graph.outputs[output + 1 :])
    for position in (*reversed(ending.moves), ending.activation):
        used = set(outputs).union(*(call.references() for call in calls))
        if calls[position].results[0] not in used:
            del calls[position]
    return graph.model_copy(update={"calls": tuple(calls), "outputs": outputs})


def _ending(graph: Graph, output: int) -> _Ending | None:
    """The activation that an output ends in, with the moves after it; None where there is none that can be left out."""
    made = _made(graph)
    value: str | None = graph.outputs[output]
    moves: list[int] = []
    while value in made:
        position = made[value]
        call = graph.calls[position]
        if call.target in _ACTIVATIONS:
            kept = _kept(graph, position, [graph.calls[each] for each in moves])
            name: Literal["softmax", "sigmoid"] = "softmax" if call.target in _SOFTMAX else "sigmoid"
            return _Ending(name, position, tuple(reversed(moves))) if kept else None
        if call.target not in _MOVES or call.several or not _stays_floating(call):
            return None
        moves.append(position)
        value = _first(call)
    return None


def _made(graph: Graph) -> dict[str, int]:
    """The positions of the calls that give the values."""
    return {result: number for number, call in enumerate(graph.calls) for result in call.results if result is not None}


def _shape_after(graph: Graph, ending: _Ending, shape_of: Callable[[str], Sizes | None]) -> Sizes | None:
    """The shape of what an activation gives, by its own name or by that of the moves after it that keep the shape.

    The archive states no shapes of what was computed under ``torch.no_grad``, but those of what is taken out of it.
    """
    for position in (ending.activation, *ending.moves):
        call = graph.calls[position]
        if position != ending.activation and call.target not in _SAME_SHAPE:
            return None
        shape = shape_of(call.results[0] or "")
        if shape is not None:
            return shape
    return None


def _kept(graph: Graph, position: int, moves: Sequence[Call]) -> bool:
    """Whether no call writes into what goes into an activation, at a position, or into what comes of it."""
    activation = graph.calls[position]
    source = _first(activation)
    values = {source, *activation.results, *(result for call in moves for result in call.results)}
    written = any(_first(call) in values for call in graph.calls[position + 1 :] if _in_place(call))
    uses = [one for call in graph.calls for one in call.references() if one == source]
    overwrites = activation.target == _SIGMOID_IN_PLACE and (len(uses) > 1 or source in graph.outputs)
    return source is not None and not written and not overwrites


def _in_place(call: Call) -> bool:
    name = call.target.split(".")[1]
    return name.endswith("_") and not name.endswith("__")


def _stays_floating(call: Call) -> bool:
    """Whether a call does not convert to another kind of numbers."""
    options = [one for one in (*call.args, *call.kwargs.values()) if isinstance(one, Option) and one.kind == "dtype"]
    return all(one.value.startswith(("float", "bfloat")) for one in options)


def _first(call: Call) -> str | None:
    """The value that a call takes as its first argument."""
    argument = call.args[0] if call.args else None
    return argument.ref if isinstance(argument, Reference) else None


def _moved(axis: int, call: Call, before: Sizes, after: Sizes) -> int | None:
    """The axis of a result that has the numbers of an axis of the argument; None where it cannot be told."""
    if call.target in _SAME_SHAPE:
        return axis
    if call.target in _SAME_ORDER:
        return _reshaped(axis, before, after)
    count = len(before)
    if call.target == "aten.permute.default":
        order = [one % count for one in _plain(call.args[1:2]) if isinstance(one, int)]
        return order.index(axis) if axis in order else None
    pair: list[int | None] = [0, 1]
    if call.target in _SWAPS:
        pair = [_number(call, 1, "dim0"), _number(call, 2, "dim1")]
    one, other = (None if each is None else each % count for each in pair)
    if one is None or other is None:
        return None
    return {one: other, other: one}.get(axis, axis)


def _reshaped(axis: int, before: Sizes, after: Sizes) -> int | None:
    """The axis of as many numbers, with as many numbers behind each of them in memory."""
    size, behind = before[axis], _count(before[axis + 1 :])
    if not isinstance(size, int) or size < 2 or behind is None:
        return None
    found = [place for place, other in enumerate(after) if other == size and _count(after[place + 1 :]) == behind]
    return found[0] if found else None


def _count(sizes: Sizes) -> tuple[int, list[str]] | None:
    """The product of some sizes: that of the numbers, and the symbols, sorted; None where a size is unknown."""
    if None in sizes:
        return None
    return math.prod(one for one in sizes if isinstance(one, int)), sorted(one for one in sizes if isinstance(one, str))


def _number(call: Call, position: int, name: str) -> int | None:
    """A whole number among the arguments of a call."""
    found = call.args[position] if len(call.args) > position else call.kwargs.get(name)
    return found if type(found) is int else None


def _plain(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """The items of the first argument, which is a list."""
    return arguments[0] if arguments and isinstance(arguments[0], tuple) else ()
