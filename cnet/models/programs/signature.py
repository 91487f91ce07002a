"""What an exported graph takes and gives: inputs of ``forward``, tensors of the archive, and outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cnet.errors import ProgramError
from cnet.formats.parsing.quoting import quoted
from cnet.models.programs.activations import activation_of
from cnet.models.programs.arguments import Scope, damaged, member, only, text_of
from cnet.models.programs.document import Graph, ProgramInput, ProgramOutput
from cnet.models.programs.tensors import DTYPE_NAMES, STRIDED, dtype_name

_SYMBOL = re.compile(r"(?:Symbol\('(s\d{1,9})'(?:, (?:positive|integer)=True)*\)|(s\d{1,9}))")

Kind = Literal["parameter", "buffer", "hidden_buffer", "constant"]
Dimensions = tuple[int | str | None, ...]


@dataclass(frozen=True)
class TensorSlot:
    """A tensor that a graph takes from the archive: its name in the graph, its name for the user, and its kind."""

    value: str
    name: str
    kind: Kind


@dataclass
class Signature:
    """Reads the signature of one graph.

    Attributes:
        module: the JSON of the graph with its signature and its tree specifications.
        values: names in the normal form of tensors by their names for the user; it grows.
        inputs: those that were read so far.
        tensors: those that were read so far, by their names for the user.
    """

    module: Mapping[str, Any]
    values: dict[str, str]
    inputs: list[ProgramInput] = field(default_factory=list)
    tensors: dict[str, TensorSlot] = field(default_factory=dict)

    def take(self, scope: Scope) -> None:
        """Name every input of the graph in ``scope``. Raises ProgramError."""
        for spec in member(self._signature, "input_specs", list):
            self._take(spec, scope)

    def outputs(self, scope: Scope) -> tuple[str, ...]:
        """Values of the user's outputs. Raises ProgramError (``program_shape``) where there are none."""
        unknown = self._output_kinds() - {"user_output", "buffer_mutation"}
        if unknown:
            raise ProgramError(
                f"program: outputs of kind {quoted(min(unknown))} are not supported. Export the module's forward, "
                "not its gradient step.",
                code="program_shape",
            )
        outputs = tuple(scope.find(name) for name in self._output_names())
        if not outputs:
            raise ProgramError(
                "program: it gives no tensor. Export a module whose forward returns one.", code="program_shape"
            )
        return outputs

    def described_outputs(self, graph: Graph, scope: Scope) -> tuple[ProgramOutput, ...]:
        """Name, element type, shape and activation of each of the user's outputs, which ``graph`` gives."""
        originals = self._output_names()
        names = _names_for_people(self.module, len(originals))
        made = {value: original for original, value in scope.values.items()}
        described = []
        for number, (name, original) in enumerate(zip(names, originals, strict=True)):
            dtype, shape = self._type_of(original)
            activation = activation_of(graph, number, lambda value: self._shape_of(made.get(value, "")))
            described.append(ProgramOutput(name=name, dtype=dtype, shape=shape, activation=activation))
        return tuple(described)

    @property
    def gives_buffers(self) -> bool:
        """Whether the graph gives new values of buffers beside its outputs, as decomposed programs do."""
        return "buffer_mutation" in self._output_kinds()

    @property
    def _signature(self) -> Mapping[str, Any]:
        return member(self.module, "signature", dict)

    def _output_kinds(self) -> set[str]:
        return {only(spec, "output")[0] for spec in member(self._signature, "output_specs", list)}

    def _output_names(self) -> list[str]:
        """The archive's names of the user's outputs that are tensors."""
        names = []
        for spec in member(self._signature, "output_specs", list):
            kind, _ = only(spec, "output")
            argument = member(member(spec, kind, dict), "arg", dict)
            if kind == "user_output" and "as_tensor" in argument:
                names.append(text_of(member(member(argument, "as_tensor", dict), "name", str)))
        return names

    def _take(self, spec: Any, scope: Scope) -> None:
        """Name one input of the graph: a tensor of the archive, an input of ``forward``, or a fixed number."""
        kind, content = only(spec, "input")
        content = member(spec, kind, dict)
        if kind == "parameter":
            self._take_tensor(content, "parameter_name", "parameter", scope)
        elif kind == "buffer":
            hidden = content.get("persistent") is False
            self._take_tensor(content, "buffer_name", "hidden_buffer" if hidden else "buffer", scope)
        elif kind == "tensor_constant":
            self._take_tensor(content, "tensor_constant_name", "constant", scope)
        elif kind == "user_input":
            self._take_input(content, scope)
        elif kind == "constant_input":
            return
        else:
            raise ProgramError(
                f"program: an input of kind {quoted(kind)} cannot be read. "
                "Export the module without custom objects and effect tokens.",
                code="program_custom_object",
            )

    def _take_tensor(self, content: Mapping[str, Any], key: str, kind: Kind, scope: Scope) -> None:
        name = text_of(member(content, key, str))
        if name in self.tensors:
            raise damaged(f"tensor {quoted(name)} that is taken twice")
        value = self.values.setdefault(name, f"t{len(self.values)}")
        self.tensors[name] = TensorSlot(value, name, kind)
        scope.define(text_of(member(member(content, "arg", dict), "name", str)), value)

    def _take_input(self, content: Mapping[str, Any], scope: Scope) -> None:
        argument = member(content, "arg", dict)
        if "as_tensor" not in argument:
            if set(argument) & {"as_none", "as_int", "as_float", "as_bool", "as_string"}:
                return
            raise ProgramError(
                "program: an input is a number that changes from call to call. "
                "Export the module with tensors as its only inputs.",
                code="program_shape",
            )
        original = text_of(member(member(argument, "as_tensor", dict), "name", str))
        dtype, shape = self._type_of(original)
        value = f"x{len(self.inputs)}"
        self.inputs.append(ProgramInput(value=value, name=original[:100], dtype=dtype, shape=shape))
        scope.define(original, value)

    def _type_of(self, original: str) -> tuple[str, Dimensions]:
        """Element type and shape that the archive states for a value."""
        meta = self._meta(original)
        if not isinstance(meta, dict) or meta.get("layout") != STRIDED or dtype_name(meta.get("dtype")) is None:
            raise ProgramError(
                f"value {quoted(original)}: its element type or layout is not supported. "
                "Export the module with dense real tensors.",
                code="program_shape",
            )
        return DTYPE_NAMES[meta["dtype"]], _dimensions(meta)

    def _shape_of(self, original: str) -> Dimensions | None:
        """The shape that the archive states for a value; None where it states none."""
        meta = self._meta(original)
        return _dimensions(meta) if isinstance(meta, dict) and isinstance(meta.get("sizes"), list) else None

    def _meta(self, original: str) -> Any:
        return member(member(self.module, "graph", dict), "tensor_values", dict).get(original)


def _dimensions(meta: Mapping[str, Any]) -> Dimensions:
    return tuple(_dimension(size) for size in member(meta, "sizes", list))


def _dimension(size: Any) -> int | str | None:
    """A fixed size, the name of a symbol, or None for a size that follows from others."""
    kind, content = only(size, "size")
    if kind == "as_int" and type(content) is int and 0 <= content < 2**48:
        return content
    if kind != "as_expr":
        raise damaged("size")
    found = _SYMBOL.fullmatch(text_of(member(content, "expr_str", str)))
    return None if found is None else found[1] or found[2]


def _names_for_people(module: Mapping[str, Any], count: int) -> list[str]:
    """Names of the outputs: keys where ``forward`` returns a dict, else ``output0`` and so on."""
    names = [f"output{number}" for number in range(count)]
    try:
        calls = member(module, "module_call_graph", list)
        specification = json.loads(member(member(calls[0], "signature", dict), "out_spec", str))[1]
        found = list(_leaf_names(specification, ""))
    except (ProgramError, ValueError, LookupError, TypeError, RecursionError):
        return names
    return [name[:100] or plain for name, plain in zip(found, names, strict=True)] if len(found) == count else names


def _leaf_names(node: Mapping[str, Any], name: str) -> Iterator[str]:
    """Names of the leaves of a tree specification, in order: the keys of dicts and positions in tuples and lists."""
    children = node["children_spec"]
    if node["type"] is None:
        yield name
        return
    keys: list[Any] = list(range(len(children)))
    if node["type"] == "builtins.dict":
        keys = json.loads(node["context"])
    for key, child in zip(keys, children, strict=True):
        label = key if isinstance(key, str) and key.isprintable() else f"output{key}"
        yield from _leaf_names(child, f"{name}.{label}" if name else label)
