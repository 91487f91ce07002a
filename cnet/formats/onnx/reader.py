"""Reader of ONNX models: the initializers of the main graph, by their names in it. Nothing of the graph is run.

Constants of nodes, and all that lies in subgraphs (the bodies of ``If`` and ``Loop``, whose names may recur), are no
part of the weights; a notice tells where they would have been compressed. They stay in the graph that
``cnet unpack --like`` takes over.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cnet.errors import CheckpointError
from cnet.formats.base import Document, FlatLeaf, Limits, Notice, Source, shown
from cnet.formats.onnx.protobuf import CutError, Field, fields
from cnet.formats.onnx.schema import (
    ATTRIBUTE_GRAPH,
    ATTRIBUTE_GRAPHS,
    ATTRIBUTE_TENSOR,
    ATTRIBUTE_TENSORS,
    GRAPH_INITIALIZER,
    GRAPH_NODE,
    GRAPH_SPARSE,
    MODEL_GRAPH,
    NODE_ATTRIBUTE,
    SPARSE_VALUES,
)
from cnet.formats.onnx.tensor import OnnxTensor, parse_tensor

_MOST_BEFORE = 1000  # fields before the graph, where some ten are usual
_BEGINNING = b"\x08"  # of the IR version, which all writers write first
_BEFORE = bytes([0x08, 0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72])  # the first bytes of a model's fields
_DEEPEST = 100
_ROW = 64  # bytes that a tensor counts at least against the limit of headers
_INSIDE = {
    ("model", GRAPH_NODE): "node",
    ("graph", GRAPH_NODE): "node",
    ("graph", GRAPH_INITIALIZER): "tensor",
    ("node", NODE_ATTRIBUTE): "attribute",
    ("attribute", ATTRIBUTE_TENSOR): "tensor",
    ("attribute", ATTRIBUTE_TENSORS): "tensor",
    ("attribute", ATTRIBUTE_GRAPH): "graph",
    ("attribute", ATTRIBUTE_GRAPHS): "graph",
}


def is_onnx(source: Source) -> bool:
    """Whether a file begins as an ONNX model does, whole or cut off: the IR version, then its fields up to a graph.

    There are no magic bytes. TensorFlow's SavedModel begins alike and has no graph; CoreML's has other fields.
    """
    message, at = memoryview(source.mapped), 0
    if message[:1] != _BEGINNING or not 1 <= bytes(message[1:2] or b"\0")[0] < 0x80:
        return False
    try:
        for index, field in enumerate(fields(message)):
            if message[at] not in _BEFORE or index > _MOST_BEFORE:
                return False
            if field.number == MODEL_GRAPH:
                return True
            at += len(field.raw)
    except ValueError as error:
        return isinstance(error, CutError) and at > 0 and message[at] in _BEFORE
    return False


def read_onnx(source: Source, limits: Limits) -> Document:
    """The initializers of the main graph, in the order of the file.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``duplicate_name``, ``unsupported_dtype``, ``unsupported_layout``,
            ``missing_shard`` for values in another file, ``not_a_state_dict`` for a graph without initializers.
    """
    graph = _graph(source)
    try:
        leaves = _initializers(graph, limits)
        notices = _notices(graph)
    except ValueError as error:
        raise CheckpointError("the graph of this ONNX model is damaged: save it again", code="corrupt") from error
    if not leaves:
        detail = f"; {notices[0].detail}" if notices else ""
        raise CheckpointError(
            f"the main graph of this ONNX model has no initializers{detail}: export its parameters as initializers",
            code="not_a_state_dict",
        )
    return Document("onnx", leaves, notices=notices)


def _graph(source: Source) -> memoryview:
    graphs = (field for field in fields(memoryview(source.mapped)) if field.number == MODEL_GRAPH)
    try:
        (graph,) = islice(graphs, 2)
        content = graph.content
    except CutError as error:
        raise CheckpointError(
            "the ONNX model ends before its contents do: it was cut off; upload it again", code="truncated"
        ) from error
    except ValueError as error:
        raise CheckpointError("the file begins as an ONNX model and is none: it is damaged", code="corrupt") from error
    return content


def _initializers(graph: memoryview, limits: Limits) -> dict[str, FlatLeaf]:
    """Raises CheckpointError, and ValueError where this is no graph."""
    leaves: dict[str, FlatLeaf] = {}
    stated = 0
    for field in fields(graph):
        if field.number == GRAPH_SPARSE:
            raise _sparse(field)
        if field.number != GRAPH_INITIALIZER:
            continue
        tensor = _tensor(field, len(leaves))
        if tensor.name in leaves:
            raise CheckpointError(f"two initializers are named {shown(tensor.name)}", code="duplicate_name")
        leaves[tensor.name] = tensor.leaf()
        stated += _ROW + len(tensor.name)
        if stated > limits.header_bytes:
            raise CheckpointError(
                f"the graph has more than {len(leaves)} initializers: more than are taken", code="too_many_elements"
            )
    return leaves


def _tensor(field: Field, index: int) -> OnnxTensor:
    try:
        return parse_tensor(field.content)
    except ValueError as error:
        raise CheckpointError(
            f"initializer {index + 1} of this ONNX model is damaged: save it again", code="corrupt"
        ) from error


def _sparse(field: Field) -> CheckpointError:
    names = (parse_tensor(part.content).name for part in fields(field.content) if part.number == SPARSE_VALUES)
    return CheckpointError(
        f"tensor {shown(next(names, ''))} is a sparse initializer, which is not supported: make it dense before saving",
        code="unsupported_layout",
    )


def _notices(graph: memoryview) -> tuple[Notice, ...]:
    """What lies elsewhere in the graph and would have been compressed. Raises ValueError."""
    tensors = elements = 0
    for tensor in _elsewhere(graph):
        tensors += 1
        elements += tensor.elements
    if not tensors:
        return ()
    detail = (
        f"compressible tensors ({tensors}, of {elements} elements) in constants of nodes or in "
        "subgraphs are left out: only initializers of the main graph are weights"
    )
    return (Notice("ignored_entries", detail),)


def _elsewhere(graph: memoryview) -> Iterator[OnnxTensor]:
    """Compressible tensors of nodes and subgraphs, however deep."""
    levels = [("model", fields(graph))]
    while levels:
        kind, rest = levels[-1]
        field = next(rest, None)
        if field is None:
            levels.pop()
            continue
        inside = _INSIDE.get((kind, field.number))
        if inside == "tensor":
            tensor = parse_tensor(field.content)
            if tensor.compressible:
                yield tensor
        elif inside is not None:
            levels.append((inside, fields(field.content)))
        if len(levels) > _DEEPEST:
            raise ValueError("graphs within graphs without end")
