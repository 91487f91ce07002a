"""The batch normalizations of a program: which tensors they have, and the graph that measures their statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from cnet.models.programs import Program
from cnet.models.programs.document import Argument, Call, Graph, Reference
from cnet.training.programs.modes import in_mode

_BATCH_NORM = "aten.batch_norm.default"
_TRAINING, _MOMENTUM, _EPSILON = 5, 6, 7  # positions of arguments


@dataclass(frozen=True)
class NormTensors:
    """Names of the tensors of one batch normalization, and what is added to its variance.

    Attributes:
        weight: the scale; None where there is none, or where another call uses it too.
        bias: the shift, likewise.
        mean: the running mean.
        variance: the running variance.
        epsilon: added to the variance.
    """

    weight: str | None
    bias: str | None
    mean: str
    variance: str
    epsilon: float


def batch_norms(program: Program) -> Iterator[NormTensors]:
    """The batch normalizations that keep running statistics, in the order of the graph."""
    names = {row.value: row.name for row in program.tensors}
    graph = in_mode(program, training=False)
    uses = Counter(value for call in graph.calls for value in call.references())
    for call in graph.calls:
        if _has_statistics(call):
            weight, bias, mean, variance = (_name(argument, names) for argument in call.args[1:5])
            if mean is not None and variance is not None:
                single = all(uses[argument.ref] == 1 for argument in call.args[1:5] if isinstance(argument, Reference))
                epsilon = call.args[_EPSILON]
                yield NormTensors(
                    weight=weight if single else None,
                    bias=bias if single else None,
                    mean=mean,
                    variance=variance,
                    epsilon=float(epsilon) if isinstance(epsilon, int | float) else 0.0,
                )


def measuring_graph(program: Program) -> Graph:
    """The graph for evaluation, in which batch normalizations set their statistics to those of the batch."""
    graph = in_mode(program, training=False)
    return graph.model_copy(update={"calls": tuple(_measuring(call) for call in graph.calls)})


def _measuring(call: Call) -> Call:
    if not _has_statistics(call):
        return call
    args = (*call.args[:_TRAINING], True, 1.0, *call.args[_MOMENTUM + 1 :])
    return call.model_copy(update={"args": args})


def _has_statistics(call: Call) -> bool:
    return call.target == _BATCH_NORM and len(call.args) > _EPSILON and isinstance(call.args[3], Reference)


def _name(argument: Argument, names: dict[str, str]) -> str | None:
    return names.get(argument.ref) if isinstance(argument, Reference) else None
