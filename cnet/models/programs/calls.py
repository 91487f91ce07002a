"""The operator calls of an exported graph, each checked against the allow-list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cnet.errors import ProgramError
from cnet.formats.parsing.quoting import quoted
from cnet.models.programs import operators
from cnet.models.programs.arguments import Scope, damaged, member, only, read_argument, text_of
from cnet.models.programs.document import Argument, Call, Graph, Reference

_MOST_CALLS = 200_000
_DEEPEST = 8
_INLINED = "torch.ops.higher_order.wrap_with_set_grad_enabled"
_AUTOCAST = "torch.ops.higher_order.wrap_with_autocast"


@dataclass
class CallReader:
    """Reads the nodes of a graph; ``calls`` grows as they, and those of the graphs within it, are read."""

    calls: list[Call] = field(default_factory=list)
    results: int = 0

    def read(self, graph: Mapping[str, Any], scope: Scope) -> None:
        """All nodes of a graph. Raises ProgramError."""
        self._read_nodes(graph, scope, depth=0)

    def finish(self, outputs: tuple[str, ...]) -> Graph:
        """The graph that returns ``outputs``. Raises ProgramError where it uses memory that was never written."""
        self._check_unwritten_memory(outputs)
        return Graph(calls=tuple(self.calls), outputs=outputs)

    @property
    def trains(self) -> bool:
        """Whether any dropout or batch norm is in the mode of training; where there is none, whether draws are made."""
        flags = [(call, position) for call in self.calls if (position := operators.training_flag(call)) is not None]
        if not flags:
            return any(call.target in operators.DRAWS for call in self.calls)
        return any(call.args[position] is True for call, position in flags)

    @property
    def is_decomposed(self) -> bool:
        """Whether batch norms were replaced by operators that cannot be switched to training."""
        return any(call.target.startswith("aten.native_") for call in self.calls)

    def _read_nodes(self, graph: Mapping[str, Any], scope: Scope, *, depth: int) -> None:
        nodes = member(graph, "nodes", list)
        if depth > _DEEPEST or len(self.calls) + len(nodes) > _MOST_CALLS:
            raise ProgramError(
                f"program: it has more than {_MOST_CALLS} operator calls. Export the module without unrolled loops.",
                code="too_large",
            )
        for node in nodes:
            target = text_of(member(node, "target", str))
            if target in {_INLINED, _AUTOCAST}:
                self._inline(node, target, scope, depth)
            elif (name := _short(target)) not in operators.CHECKS:
                self._read_call(node, name, scope)

    def _read_call(self, node: Mapping[str, Any], target: str, scope: Scope) -> None:
        if not operators.is_allowed(target):
            raise ProgramError(
                f"program: the operator {quoted(target)} is not supported. "
                "Replace it in the module by other operators, or ask the "
                "person who runs this service to add the architecture as a plug-in.",
                code="program_operator",
            )
        args: list[Argument] = []
        kwargs: dict[str, Argument] = {}
        for given in member(node, "inputs", list):
            argument = read_argument(member(given, "arg", dict), scope)
            name = text_of(member(given, "name", str))
            if given.get("kind") == 2 or (given.get("kind") is None and kwargs):
                if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", name):
                    raise damaged(f"argument {quoted(name)}")
                kwargs[name] = argument
            else:
                args.append(argument)
        results, several = self._define_results(node, scope)
        self.calls.append(Call(target=target, args=tuple(args), kwargs=kwargs, results=results, several=several))

    def _define_results(self, node: Mapping[str, Any], scope: Scope) -> tuple[tuple[str | None, ...], bool]:
        outputs = member(node, "outputs", list)
        names: list[str | None] = []
        several = len(outputs) != 1
        for output in outputs:
            kind, content = only(output, "result")
            if kind == "as_tensors":
                several = True
                names.extend(text_of(member(one, "name", str)) for one in member(output, kind, list))
            elif kind in {"as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"}:
                key = "name" if kind == "as_tensor" else "as_name"
                names.append(text_of(member(content, key, str)))
            elif kind == "as_none":
                names.append(None)
            else:
                raise damaged(f"result of kind {quoted(kind)}")
        return tuple(None if name is None else self._define(name, scope) for name in names), several

    def _define(self, original: str, scope: Scope) -> str:
        value = f"v{self.results}"
        self.results += 1
        scope.define(original, value)
        return value

    def _inline(self, node: Mapping[str, Any], target: str, scope: Scope, depth: int) -> None:
        """Put the calls of a graph that runs without gradients, or without autocast, in the place of its call."""
        arguments = [member(given, "arg", dict) for given in member(node, "inputs", list)]
        position = next((i for i, argument in enumerate(arguments) if "as_graph" in argument), None)
        if position is None:
            raise damaged("call of a graph")
        options = [read_argument(argument, scope) for argument in arguments[:position]]
        if target == _AUTOCAST and options[2:3] != [False]:
            raise ProgramError(
                "program: it computes under torch.autocast. Export the module outside autocast.",
                code="program_operator",
            )
        graph = member(member(arguments[position], "as_graph", dict), "graph", dict)
        inner = Scope()
        given = [read_argument(argument, scope) for argument in arguments[position + 1 :]]
        for name, argument in zip(member(graph, "inputs", list), given, strict=False):
            if isinstance(argument, Reference):
                inner.define(_name_of(name), argument.ref)
        detached = target == _INLINED and options[:1] == [False]
        self._read_nodes(graph, inner, depth=depth + 1)
        results = [inner.find(_name_of(output)) for output in member(graph, "outputs", list)]
        named = [
            text_of(member(one, "name", str)) for output in member(node, "outputs", list) for one in _tensors_of(output)
        ]
        for original, value in zip(named, results, strict=False):
            if detached:
                call = Call(
                    target="aten.detach.default", args=(Reference(ref=value),), results=(self._define(original, scope),)
                )
                self.calls.append(call)
            else:
                scope.define(original, value)

    def _check_unwritten_memory(self, outputs: tuple[str, ...]) -> None:
        """Refuse a tensor of unwritten memory that is used, or returned, before it is filled."""
        unwritten: dict[str, str] = {}
        for call in self.calls:
            taken = set(call.references())
            if call.target in operators.FILLS and isinstance(call.args[0] if call.args else None, Reference):
                filled = next(call.references())
                unwritten.pop(filled, None)
                taken.discard(filled)
            _refuse_unwritten(unwritten, taken)
            if call.target in operators.FILLED:
                unwritten |= {result: call.target for result in call.results if result is not None}
        _refuse_unwritten(unwritten, outputs)


def _refuse_unwritten(unwritten: Mapping[str, str], taken: Iterable[str]) -> None:
    for value in taken:
        if value in unwritten:
            raise ProgramError(
                f"program: {unwritten[value]} gives memory that was never written. "
                "Use zeros in its place and export again.",
                code="program_operator",
            )


def _short(target: str) -> str:
    """The target without the names of torch's own modules: ``aten.relu.default``, ``operator.add``."""
    if target.startswith("torch.ops."):
        return target.removeprefix("torch.ops.")
    return target.removeprefix("_") if target.startswith("_operator.") else target


def _name_of(argument: Any) -> str:
    kind, content = only(argument, "argument")
    return text_of(member(content, "name" if kind == "as_tensor" else "as_name", str))


def _tensors_of(output: Any) -> list[Any]:
    kind, content = only(output, "result")
    return member(output, kind, list) if kind == "as_tensors" else [content]
