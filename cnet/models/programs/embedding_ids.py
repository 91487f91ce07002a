"""Which ids a program takes: those of the rows of the embeddings that look up the values of an input."""

from __future__ import annotations

from cnet.models.programs.document import Argument, Call, Program, Reference

_EMBEDDING = "aten.embedding.default"

_SAME_VALUES = frozenset(
    f"aten.{name}"
    for name in [
        "alias.default",
        "clone.default",
        "contiguous.default",
        "detach.default",
        "expand.default",
        "flatten.using_ints",
        "permute.default",
        "reshape.default",
        "squeeze.default",
        "squeeze.dim",
        "squeeze.dims",
        "swapaxes.default",
        "t.default",
        "to.device",
        "to.dtype",
        "to.dtype_layout",
        "to.other",
        "transpose.int",
        "unflatten.int",
        "unsqueeze.default",
        "view.default",
    ]
)
"""Operators whose result holds all values of their first argument and no others."""


def embedding_rows(program: Program) -> dict[str, int]:
    """How many ids, counted from 0, each integer input takes, by the input's name.

    An input is left out where no embedding looks up its values as they are, such as where only a part of them is used.
    """
    made = {result: call for call in program.graph.calls for result in call.results if result is not None}
    rows = {tensor.value: tensor.shape[0] for tensor in program.tensors if tensor.shape}
    names = {one.value: one.name for one in program.inputs if one.dtype.startswith(("int", "uint"))}
    found: dict[str, int] = {}
    for call in program.graph.calls:
        if call.target != _EMBEDDING:
            continue
        table, ids = (_origin(argument, made) for argument in call.args[:2])
        if table in rows and ids in names:
            found[names[ids]] = min(rows[table], found.get(names[ids], rows[table]))
    return found


def _origin(argument: Argument, made: dict[str, Call]) -> str:
    """The value that an argument has its values of; empty where it is no value."""
    while isinstance(argument, Reference):
        call = made.get(argument.ref)
        if call is None or call.target not in _SAME_VALUES:
            return argument.ref
        argument = call.args[0] if call.args else None
    return ""
