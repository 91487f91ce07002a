"""One exported program's JSON (``models/model.json``) in normal form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cnet.errors import ProgramError
from cnet.models.programs.arguments import Scope, member, text_of
from cnet.models.programs.calls import CallReader
from cnet.models.programs.document import Graph, ProgramInput, ProgramOutput
from cnet.models.programs.signature import Signature, TensorSlot

_MAJOR_VERSION = 8
_ASSUMED_AT_LEAST = 2  # torch.export assumes this of every dynamic size, whatever the graph needs


@dataclass(frozen=True)
class ParsedGraph:
    """A graph in normal form with what it takes and gives.

    Attributes:
        trains: whether its dropouts and batch norms are those of training.
        untrainable: why it cannot be trained, or None.
    """

    graph: Graph
    inputs: tuple[ProgramInput, ...]
    outputs: tuple[ProgramOutput, ...]
    tensors: tuple[TensorSlot, ...]
    trains: bool
    untrainable: str | None


@dataclass(frozen=True)
class ModelDocument:
    """The JSON of one exported program (``models/model.json``)."""

    document: Mapping[str, Any]
    torch_version: str

    @classmethod
    def parse(cls, document: Any) -> ModelDocument:
        """Check the version. Raises ProgramError (``program_version``, ``corrupt``)."""
        version = member(member(document, "schema_version", dict), "major", int)
        torch_version = text_of(document.get("torch_version", "unknown"))[:40]
        if version != _MAJOR_VERSION:
            raise ProgramError(
                f"program: it was written by torch {torch_version} in schema version {version}; version "
                f"{_MAJOR_VERSION} is read. "
                "Export it with torch 2.8 or newer.",
                code="program_version",
            )
        return cls(document, torch_version)

    def ranges(self) -> dict[str, tuple[int, int | None]]:
        """The smallest and largest size of each symbol, as plain numbers."""
        found = {}
        for name, limits in member(self.document, "range_constraints", dict).items():
            low, high = (limits.get(key) if isinstance(limits, dict) else None for key in ("min_val", "max_val"))
            if re.fullmatch(r"s\d{1,9}", name):
                least = _bounded(low) or 0
                found[name] = (0 if least <= _ASSUMED_AT_LEAST else least, _bounded(high))
        return found

    def graph(self, values: Mapping[str, str] | None = None) -> ParsedGraph:
        """The graph in normal form.

        Args:
            values: names in the graph of tensors by their names for the user, where another graph has named them.

        Raises:
            ProgramError: ``program_operator``, ``program_shape``, ``program_custom_object``, ``corrupt``.
        """
        module = member(self.document, "graph_module", dict)
        signature, calls, scope = Signature(module, dict(values or {})), CallReader(), Scope()
        signature.take(scope)
        calls.read(member(module, "graph", dict), scope)
        outputs = signature.outputs(scope)
        untrainable = None
        if signature.gives_buffers or calls.is_decomposed:
            untrainable = "the program was decomposed: its batch norms and dropouts cannot be switched to training"
        graph = calls.finish(outputs)
        return ParsedGraph(
            graph=graph,
            inputs=tuple(signature.inputs),
            outputs=signature.described_outputs(graph, scope),
            tensors=tuple(signature.tensors.values()),
            trains=calls.trains,
            untrainable=untrainable,
        )


def _bounded(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**48 else None
