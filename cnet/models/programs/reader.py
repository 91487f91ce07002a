"""Read a ``torch.export`` archive into a ``Program`` and its weights, running nothing of it.

The archive's JSON is taken apart by this module alone: operators are looked up in an allow-list, names are made anew,
symbolic sizes are matched against one strict pattern, and guards, verifiers, metadata and tree specifications are
ignored but for plain names. Schema: ``torch/_export/serde/schema.py``, major version 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cnet.errors import ProgramError
from cnet.formats.parsing.contents import Notice
from cnet.formats.parsing.mapped_file import Limits
from cnet.formats.parsing.quoting import quoted
from cnet.models.programs.archive import MODEL, TRAIN_GRAPH, Archive
from cnet.models.programs.canonical_program import state_dict_of
from cnet.models.programs.document import Graph, Program, ProgramTensor
from cnet.models.programs.graph import ModelDocument, ParsedGraph
from cnet.models.programs.signature import Kind
from cnet.models.programs.tensors import StoredTensor, read_tensors
from cnet.weights import Selection, Tensor, Weights

_DEFAULT = Limits()


@dataclass(frozen=True, eq=False)
class ProgramArchive:
    """A program as read.

    Attributes:
        program: the network in normal form.
        weights: parameters and buffers under their ``state_dict`` names, then constants and hidden buffers that the
            graph needs, in the order of the archive; the compressible ones are parameters.
        warnings: what the user should know.
    """

    program: Program
    weights: Weights
    warnings: tuple[Notice, ...]

    @property
    def state_dict(self) -> Weights:
        """The tensors of the user's ``state_dict``: parameters and persistent buffers, in their order."""
        return state_dict_of(self.program, self.weights)


def read_program(path: str | Path, *, limits: Limits = _DEFAULT) -> ProgramArchive:
    """The program and the weights of a ``torch.export`` archive (``.pt2``). Nothing of the file is executed.

    Args:
        path: the file; it must stay as it is while the weights live, which are views of it.
        limits: how much the file may claim.

    Raises:
        ProgramError: with one of the contract's refusal codes.
        OSError: the file cannot be opened.
    """
    try:
        return _read(Archive(Path(path), limits), limits)
    except MemoryError as error:
        raise ProgramError(
            "program: there is not enough memory to read it. Export a smaller network.", code="too_large"
        ) from error
    except RecursionError as error:
        raise ProgramError(
            "program: its graphs are nested too deeply. Export the module again without nested calls.", code="corrupt"
        ) from error


def _read(archive: Archive, limits: Limits) -> ProgramArchive:
    model = ModelDocument.parse(archive.json(MODEL))
    stored, constants = read_tensors(archive, limits)
    graph = model.graph()
    tensors = _used_tensors(graph, stored, constants)
    train, notices = _train_graph(archive, graph, tensors)
    program = Program(
        inputs=graph.inputs,
        outputs=graph.outputs,
        tensors=tensors,
        graph=graph.graph,
        train_graph=train,
        exported_for="training" if graph.trains else "evaluation",
        untrainable=graph.untrainable,
        ranges=model.ranges(),
        torch_version=model.torch_version,
    )
    return ProgramArchive(program, _weights(program, stored, constants), notices)


def _used_tensors(
    graph: ParsedGraph, stored: dict[str, StoredTensor], constants: dict[str, StoredTensor]
) -> tuple[ProgramTensor, ...]:
    """The graph's tensors with the shapes of those that the archive holds; those that no call uses come last."""
    rows = []
    for slot in graph.tensors:
        found = stored.get(slot.name) if slot.kind in {"parameter", "buffer"} else constants.get(slot.name)
        if found is None:
            raise ProgramError(
                f"tensor {quoted(slot.name)}: the graph uses it and the archive does not hold it. "
                "Export the module again.",
                code="truncated",
            )
        rows.append(
            ProgramTensor(
                value=slot.value, name=slot.name, kind=slot.kind, dtype=found.tensor.dtype, shape=found.tensor.shape
            )
        )
    known = {row.name for row in rows}
    for number, (name, tensor) in enumerate((name, tensor) for name, tensor in stored.items() if name not in known):
        kind: Kind = "parameter" if tensor.is_parameter else "buffer"
        rows.append(
            ProgramTensor(
                value=f"t{len(graph.tensors) + number}",
                name=name,
                kind=kind,
                dtype=tensor.tensor.dtype,
                shape=tensor.tensor.shape,
            )
        )
    return tuple(rows)


def _train_graph(
    archive: Archive, graph: ParsedGraph, tensors: tuple[ProgramTensor, ...]
) -> tuple[Graph | None, tuple[Notice, ...]]:
    """The training graph in terms of the evaluation graph's tensors, or a warning where it cannot be used."""
    if TRAIN_GRAPH not in archive.names:
        return None, ()
    values = {tensor.name: tensor.value for tensor in tensors}
    try:
        train = ModelDocument.parse(archive.json(TRAIN_GRAPH)).graph(values)
        reason = _misfit(train, graph, set(values))
    except ProgramError as error:
        reason = error.detail
    if reason:
        text = f"the graph for training cannot be used, and the one for evaluation trains in its place: {reason}"
        return None, (Notice("train_graph_ignored", text),)
    return train.graph, ()


def _misfit(train: ParsedGraph, graph: ParsedGraph, known: set[str]) -> str | None:
    """Why the graph for training is not one of the same network as the graph for evaluation, or None."""
    if [(one.dtype, len(one.shape)) for one in train.inputs] != [(one.dtype, len(one.shape)) for one in graph.inputs]:
        return "it has other inputs. Export both with cnet.export_program."
    if len(train.graph.outputs) != len(graph.graph.outputs):
        return "it has other outputs. Export both with cnet.export_program."
    unknown = [slot.name for slot in train.tensors if slot.name not in known]
    return (
        f"it uses the tensor {quoted(unknown[0])}, which the archive does not hold. Export both again."
        if unknown
        else None
    )


def _weights(program: Program, stored: dict[str, StoredTensor], constants: dict[str, StoredTensor]) -> Weights:
    """All tensors of the program; tied are those that the archive stores once. Buffers are not compressible."""
    order = {name: position for position, name in enumerate([*stored, *constants])}
    found = {
        row.name: (stored if row.kind in {"parameter", "buffer"} else constants)[row.name] for row in program.tensors
    }
    names = sorted(found, key=order.__getitem__)
    groups: dict[tuple[object, ...], list[str]] = {}
    for name in names:
        groups.setdefault(found[name].identity, []).append(name)
    tied = [tuple(group) for group in groups.values() if len(group) > 1]
    tensors: list[Tensor] = [found[name].tensor for name in names]
    buffers = frozenset(name for name in names if not found[name].is_parameter)
    return Weights.select(tensors, Selection(tables=buffers), tied)
