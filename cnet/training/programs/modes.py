"""The graph of a program in training and in evaluation, whichever way it was exported.

Dropout, recurrent layers and normalizations have an argument that says which of the two is meant. Draws of random
numbers outside them (stochastic depth) become their mean in evaluation (``random_draws``). What an export for
evaluation has dropped, such as dropout inside attention, cannot be brought back.
"""

from __future__ import annotations

from cnet.models.programs import Program
from cnet.models.programs.document import Call, Graph
from cnet.models.programs.operators import training_flag
from cnet.training.programs.random_draws import without_draws

_ATTENTION = "aten.scaled_dot_product_attention.default"
_ATTENTION_DROPOUT = 4


def in_mode(program: Program, *, training: bool) -> Graph:
    """The calls to make in training or in evaluation."""
    if training and program.train_graph is not None:
        return program.train_graph
    graph = program.graph
    if training == (program.exported_for == "training"):
        return graph
    calls = graph.calls if training else without_draws(graph.calls)
    return graph.model_copy(update={"calls": tuple(_switched(call, training=training) for call in calls)})


def _switched(call: Call, *, training: bool) -> Call:
    position = training_flag(call)
    if position is not None:
        return _with_argument(call, position, training)
    if call.target == _ATTENTION and not training and len(call.args) > _ATTENTION_DROPOUT:
        return _with_argument(call, _ATTENTION_DROPOUT, 0.0)
    return call


def _with_argument(call: Call, position: int, value: bool | float) -> Call:
    return call.model_copy(update={"args": (*call.args[:position], value, *call.args[position + 1 :])})
