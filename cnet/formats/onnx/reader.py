"""Reader of ONNX models: the initializers of the main graph, by their names. No part of the graph is run.

Constants of nodes and all tensors of subgraphs (the bodies of ``If`` and ``Loop``, whose names may recur) are not read
as weights. A notice says how many compressible tensors they are. They stay in the graph that ``cnet unpack --like``
copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cnet.errors import CheckpointError
from cnet.formats.onnx.external import OpenExternal
from cnet.formats.onnx.protobuf import MessageField, TruncatedMessageError, read_fields
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
from cnet.formats.onnx.tensors import OnnxTensor, parse_tensor
from cnet.formats.parsing.contents import CheckpointContents, Notice, StoredArray, damaged
from cnet.formats.parsing.mapped_file import Limits, MappedFile, truncated
from cnet.formats.parsing.quoting import quoted

_MOST_FIELDS = 1000  # before the graph, where about ten are usual
_FIRST_BYTE = b"\x08"  # of the IR version, which all writers write first
_FIELD_BYTES = bytes([0x08, 0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72])  # with which fields of a model begin
_DEEPEST_NESTING = 100
_TENSOR_COST = 64  # bytes that a tensor, in addition to its name, counts against the limit of headers
_NESTED_MESSAGES = {  # kind of message and number of a field, to the kind of message that the field holds
    ("model", GRAPH_NODE): "node",
    ("graph", GRAPH_NODE): "node",
    ("graph", GRAPH_INITIALIZER): "tensor",
    ("node", NODE_ATTRIBUTE): "attribute",
    ("attribute", ATTRIBUTE_TENSOR): "tensor",
    ("attribute", ATTRIBUTE_TENSORS): "tensor",
    ("attribute", ATTRIBUTE_GRAPH): "graph",
    ("attribute", ATTRIBUTE_GRAPHS): "graph",
}


def is_onnx(file: MappedFile) -> bool:
    """Whether a file begins as an ONNX model does, whole or cut off: the IR version, then other fields, then a graph.

    The format has no magic bytes. TensorFlow's SavedModel begins alike but has no graph; CoreML has other fields.
    """
    message, at = file.view, 0
    if message[:1] != _FIRST_BYTE or not 1 <= bytes(message[1:2] or b"\0")[0] < 0x80:
        return False
    try:
        for index, field in enumerate(read_fields(message)):
            if message[at] not in _FIELD_BYTES or index > _MOST_FIELDS:
                return False
            if field.number == MODEL_GRAPH:
                return True
            at += len(field.raw)
    except ValueError as error:
        return isinstance(error, TruncatedMessageError) and at > 0 and message[at] in _FIELD_BYTES
    return False


def read_onnx(file: MappedFile, limits: Limits, open_external: OpenExternal | None = None) -> CheckpointContents:
    """The initializers of the main graph, in the order of the file.

    Args:
        file: the model.
        limits: the most that it may claim.
        open_external: opens the other files of the archive that the model is in; None: there are none.

    Raises:
        CheckpointError: ``truncated``, ``corrupt``, ``duplicate_name``, ``unsupported_dtype``, ``unsupported_layout``,
            ``missing_shard`` for values in another file, ``not_a_state_dict`` for a graph without initializers.
    """
    graph = _graph(file)
    try:
        tensors = _initializers(graph, limits, open_external)
        notices = _notices(graph)
    except ValueError as error:
        raise damaged("the graph of this ONNX model", "it cannot be read") from error
    if not tensors:
        detail = f"; {notices[0].detail}" if notices else ""
        raise CheckpointError(
            f"the main graph of this ONNX model has no initializers{detail}. Export its parameters as initializers.",
            code="not_a_state_dict",
        )
    return CheckpointContents(tensors, notices=notices)


def _graph(file: MappedFile) -> memoryview:
    graphs = (field for field in read_fields(file.view) if field.number == MODEL_GRAPH)
    try:
        (graph,) = islice(graphs, 2)
        content = graph.content
    except TruncatedMessageError as error:
        raise truncated() from error
    except ValueError as error:
        raise damaged("the file", "it begins as an ONNX model and is not one") from error
    return content


def _initializers(graph: memoryview, limits: Limits, open_external: OpenExternal | None) -> dict[str, StoredArray]:
    """The initializers of a graph. Raises CheckpointError, and ValueError where the bytes are not a graph."""
    tensors: dict[str, StoredArray] = {}
    stated = 0
    for field in read_fields(graph):
        if field.number == GRAPH_SPARSE:
            raise _sparse(field)
        if field.number != GRAPH_INITIALIZER:
            continue
        tensor = _tensor(field, len(tensors))
        if tensor.name in tensors:
            raise CheckpointError(
                f"tensor {quoted(tensor.name)}: two initializers have this name. Rename one.", code="duplicate_name"
            )
        tensors[tensor.name] = tensor.stored_array(open_external)
        stated += _TENSOR_COST + len(tensor.name)
        if stated > limits.header_bytes:
            raise CheckpointError(
                f"the graph has more than {len(tensors)} initializers, which is more than is accepted. "
                "Export fewer tensors.",
                code="too_many_elements",
            )
    return tensors


def _tensor(field: MessageField, index: int) -> OnnxTensor:
    try:
        return parse_tensor(field.content)
    except ValueError as error:
        raise damaged(f"initializer {index + 1} of this ONNX model", "it cannot be read") from error


def _sparse(field: MessageField) -> CheckpointError:
    values = (part for part in read_fields(field.content) if part.number == SPARSE_VALUES)
    names = (parse_tensor(part.content).name for part in values)
    return CheckpointError(
        f"tensor {quoted(next(names, ''))}: it is a sparse initializer, which is not supported. "
        "Make it dense before saving.",
        code="unsupported_layout",
    )


def _notices(graph: memoryview) -> tuple[Notice, ...]:
    """A notice of the compressible tensors that are not initializers of the main graph. Raises ValueError."""
    tensors = elements = 0
    for tensor in _other_tensors(graph):
        tensors += 1
        elements += tensor.elements
    if not tensors:
        return ()
    detail = (
        f"compressible tensors ({tensors}, of {elements} elements) that are constants of nodes or parts of subgraphs "
        "were left out: only initializers of the main graph are weights"
    )
    return (Notice("ignored_entries", detail),)


def _other_tensors(graph: memoryview) -> Iterator[OnnxTensor]:
    """The compressible tensors of nodes and subgraphs, at any depth."""
    levels = [("model", read_fields(graph))]
    while levels:
        kind, rest = levels[-1]
        field = next(rest, None)
        if field is None:
            levels.pop()
            continue
        nested = _NESTED_MESSAGES.get((kind, field.number))
        if nested == "tensor":
            tensor = parse_tensor(field.content)
            if tensor.compressible:
                yield tensor
        elif nested is not None:
            levels.append((nested, read_fields(field.content)))
        if len(levels) > _DEEPEST_NESTING:
            raise ValueError(f"graphs are nested more than {_DEEPEST_NESTING} deep")
