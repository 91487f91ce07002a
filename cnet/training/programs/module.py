"""From a program's normal form to a PyTorch module that trains and evaluates."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx import Graph as FxGraph
from torch.fx import GraphModule, Node

from cnet.models.programs import Program
from cnet.models.programs.document import Argument, Call, Graph, Option, Reference, SpecialFloat
from cnet.training.programs.checks import CHECKED, check_inputs, index_errors_named
from cnet.training.programs.modes import in_mode
from cnet.training.programs.normalization import measuring_graph
from cnet.weights import Tensor as StoredTensor
from cnet.weights import Weights


class TensorLevel(nn.Module):
    """A level of dotted names, such as ``encoder.layers``: it holds tensors and further levels, and computes nothing.

    Tensors are entered into the tables of ``nn.Module`` directly, since a name of the archive may be that of a method.
    """

    def level(self, name: str) -> TensorLevel:
        """The level of this name below, made where it is missing."""
        child = self._modules.get(name)
        if not isinstance(child, TensorLevel):
            child = self._modules[name] = TensorLevel()
        return child

    def put_parameter(self, name: str, parameter: nn.Parameter) -> None:
        """Enter a parameter, any shape."""
        self._parameters[name] = parameter

    def put_buffer(self, name: str, buffer: Tensor, *, persistent: bool) -> None:
        """Enter a buffer, any shape; one that is not persistent is not in the ``state_dict``."""
        self._buffers[name] = buffer
        if not persistent:
            self._non_persistent_buffers_set.add(name)

    def tensor(self, name: str) -> Tensor:
        """The parameter or buffer of this name. Raises KeyError."""
        parameter = self._parameters.get(name)
        if parameter is None and name not in self._buffers:
            found = getattr(self, name, None)  # a parametrization computes it
            if not isinstance(found, Tensor):
                raise KeyError(name)
            return found
        found = self._buffers[name] if parameter is None else parameter
        if found is None:
            raise KeyError(name)
        return found


class ProgramModule(TensorLevel):
    """A program with its tensors, which have the names of the user's ``state_dict``.

    Args:
        program: the normal form.
        tensors: every tensor of the program by its name, of the shapes that the program states; floating-point ones of
            kind ``parameter`` are trained. Tensors that are one object stay one parameter.
        device: where the program makes tensors of its own.

    ``module.train()`` and ``module.eval()`` select between the graphs for training and for evaluation.
    """

    def __init__(self, program: Program, tensors: Mapping[str, Tensor], device: torch.device | str = "cpu") -> None:
        super().__init__()
        self.program = program
        self._places = {row.value: self._place(row.name) for row in program.tensors}
        shared: dict[int, nn.Parameter] = {}
        for row in program.tensors:
            tensor, (owner, name) = tensors[row.name], self._places[row.value]
            if row.kind == "parameter":
                parameter = nn.Parameter(tensor, requires_grad=tensor.is_floating_point())
                owner.put_parameter(name, shared.setdefault(id(tensor), parameter))
            else:
                owner.put_buffer(name, tensor, persistent=row.kind == "buffer")
        self._values = _used_tensors(program)
        values = [*self._values, *(one.value for one in program.inputs)]
        graphs = {mode: in_mode(program, training=mode) for mode in (False, True)}
        self._device = torch.device(device)
        self._graphs = {mode: build_graph(graph, values, self._device) for mode, graph in graphs.items()}
        self._measuring: GraphModule | None = None

    @classmethod
    def of(cls, program: Program, weights: Weights, device: torch.device | str = "cpu") -> Self:
        """The module with copies of ``weights``, which hold every tensor of the program; ties are kept."""
        tensors = {one.name: _torch_tensor(one).to(device) for one in weights if one.name not in weights.copies}
        for group in weights.tied:
            tensors |= dict.fromkeys(group, tensors[group[0]])
        return cls(program, tensors, device)

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The outputs: a tensor where there is one, else a tuple in the order of the program's outputs.

        Args:
            inputs: one tensor for each input of the program, of its element type and shape.

        Raises:
            ProgramError: (``program_shape``) the inputs are not those that the program takes.
            DatasetError: (``ids_out_of_range``) they hold an id for which a table of the program has no row.
        """
        check_inputs(self.program, inputs)
        with index_errors_named():
            outputs: tuple[Tensor, ...] = self._graphs[self.training](*self._tensors(), *inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def measure(self, *inputs: Tensor) -> None:
        """Set the running statistics of all batch normalizations to those of a batch; all else as in evaluation.

        Args:
            inputs: as in ``forward``.
        """
        if self._measuring is None:
            values = [*self._values, *(one.value for one in self.program.inputs)]
            self._measuring = build_graph(measuring_graph(self.program), values, self._device)
        check_inputs(self.program, inputs)
        with index_errors_named():
            self._measuring(*self._tensors(), *inputs)

    def _tensors(self) -> Iterator[Tensor]:
        """The tensors that the graphs use, in the order of their arguments."""
        return (owner.tensor(name) for owner, name in map(self._places.__getitem__, self._values))

    def _place(self, name: str) -> tuple[TensorLevel, str]:
        """The level that holds a tensor, and the last part of its dotted name."""
        *levels, last = name.split(".")
        owner: TensorLevel = self
        for level in levels:
            owner = owner.level(level)
        return owner, last


def build_graph(graph: Graph, values: list[str], device: torch.device) -> GraphModule:
    """A module that computes a graph; its arguments are ``values`` in order, its result a tuple of the outputs."""
    built = FxGraph()
    nodes = {value: built.placeholder(value) for value in values}
    for call in graph.calls:
        _add_call(built, call, nodes, device)
    built.output(tuple(nodes[value] for value in graph.outputs))
    return GraphModule(nn.Module(), built)


def _add_call(built: FxGraph, call: Call, nodes: dict[str, Node], device: torch.device) -> None:
    args = tuple(_argument(argument, nodes, device) for argument in call.args)
    kwargs = {name: _argument(argument, nodes, device) for name, argument in call.kwargs.items()}
    node = built.create_node("call_function", _function(call.target), args, kwargs)
    for position, result in enumerate(call.results):
        if result is not None:
            nodes[result] = built.call_function(operator.getitem, (node, position)) if call.several else node


def _function(target: str) -> Callable[..., Any]:
    """The function that an allowed target names."""
    if target in CHECKED:
        return CHECKED[target]
    library, *names = target.split(".")
    found: Any = {"aten": torch.ops.aten, "operator": operator, "math": math, "torch": torch}[library]
    for name in names:
        found = getattr(found, name)
    function: Callable[..., Any] = found
    return function


def _argument(argument: Argument, nodes: Mapping[str, Node], device: torch.device) -> Any:
    if isinstance(argument, tuple):
        return [_argument(one, nodes, device) for one in argument]
    if isinstance(argument, Reference):
        return nodes[argument.ref]
    if isinstance(argument, SpecialFloat):
        return argument.value()
    if isinstance(argument, Option):
        return device if argument.kind == "device" else getattr(torch, argument.value)
    return argument


def _torch_tensor(tensor: StoredTensor) -> Tensor:
    """A copy in the tensor's own element type."""
    copy = torch.from_numpy(np.array(tensor.data))
    return copy.view(getattr(torch, tensor.dtype))


def _used_tensors(program: Program) -> list[str]:
    """Values of the tensors that a graph of the program uses, in order."""
    graphs = [program.graph, *([program.train_graph] if program.train_graph else [])]
    used = {value for graph in graphs for call in graph.calls for value in call.references()}
    used |= {value for graph in graphs for value in graph.outputs}
    return [row.value for row in program.tensors if row.value in used]
