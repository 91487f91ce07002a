"""The ONNX model that packed weights are put into: everything but its weights and its comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cnet.errors import CnetError
from cnet.formats.onnx.protobuf import MessageField, encode_bytes, encode_integer, read_fields
from cnet.formats.onnx.schema import (
    GRAPH_INITIALIZER,
    GRAPH_INPUT,
    GRAPH_NAME,
    GRAPH_NODE,
    GRAPH_OUTPUT,
    GRAPH_VALUES,
    MODEL_GRAPH,
    MODEL_IR,
    MODEL_OPSETS,
    MODEL_PRODUCER,
    NODE_COMMENTS,
    OPSET_DOMAIN,
    OPSET_VERSION,
)
from cnet.formats.onnx.template import check_template, parse_initializer, template_bytes
from cnet.formats.onnx.writer import output_of
from cnet.formats.writing import TensorsToWrite

_IR_VERSION, _OPSET = 9, 19  # those of the format `onnx`
_LEAST_IR = 4  # before it, an initializer had to be an input of the graph too
_LEAST_OPSET = 11  # the first with BitShift


@dataclass(frozen=True, eq=False)
class GraphTemplate:
    """A model without its weights.

    Attributes:
        before: the fields of the model before its graph.
        graph: fields of the graph, none of them a weight.
        after: the fields of the model after its graph.
        wanted: names of the weights that the graph needs.
        content: all bytes of the model, where names may stand.
    """

    before: bytes
    graph: Sequence[bytes | memoryview]
    after: bytes
    wanted: Sequence[str]
    content: memoryview | bytes


def empty_template(tensors: TensorsToWrite) -> GraphTemplate:
    """A model without nodes whose outputs are the tensors."""
    rows = tensors.descriptions
    opset = encode_bytes(MODEL_OPSETS, encode_bytes(OPSET_DOMAIN, b"") + encode_integer(OPSET_VERSION, _OPSET))
    graph = [encode_bytes(GRAPH_NAME, b"weights"), *(encode_bytes(GRAPH_OUTPUT, output_of(row)) for row in rows)]
    names = [row.name for row in rows]
    before = encode_integer(MODEL_IR, _IR_VERSION) + encode_bytes(MODEL_PRODUCER, b"cnet")
    return GraphTemplate(before, graph, opset, names, "\n".join(names).encode())


def read_template(template: Path, tensors: TensorsToWrite) -> GraphTemplate:
    """An ONNX file of the same network without its weights.

    Shapes of intermediate values and comments of nodes are left out; they change nothing that is computed.

    Raises:
        CnetError: ``not_onnx`` or ``not_alike`` where the file cannot be used.
    """
    try:
        content = template_bytes(template)
        fields = list(read_fields(content))
        (at,) = [index for index, field in enumerate(fields) if field.number == MODEL_GRAPH]
        graph = list(read_fields(fields[at].content))
        initializers = [parse_initializer(field) for field in graph if field.number == GRAPH_INITIALIZER]
        opset = _default_opset(fields)
        known = {row.name for row in tensors.descriptions}
        wanted = [each.name for each in initializers if each.name in known]
        kept = _kept_fields(graph, set(wanted))
    except ValueError as error:
        raise CnetError(f"{template.name}: it is not an ONNX model. Name an ONNX file.", code="not_onnx") from error
    check_template(
        template, tensors, [each for each in initializers if each.name in known or each.external is not None]
    )
    if opset < _LEAST_OPSET:
        raise CnetError(
            f"{template.name}: it uses operator set {opset}, and packed weights need {_LEAST_OPSET} or newer. "
            "Export it again with torch.onnx.export(..., opset_version=18).",
            code="not_alike",
        )
    return GraphTemplate(_header(fields[:at]), kept, _header(fields[at + 1 :]), wanted, content)


def _kept_fields(graph: Sequence[MessageField], weights: set[str]) -> list[bytes | memoryview]:
    """The fields of the graph less its weights, also as inputs, and less comments. Raises ValueError."""
    kept: list[bytes | memoryview] = []
    for field in graph:
        if field.number == GRAPH_NODE:
            parts = (part.raw for part in read_fields(field.content) if part.number not in NODE_COMMENTS)
            kept.append(encode_bytes(GRAPH_NODE, b"".join(parts)))
        elif field.number == GRAPH_INITIALIZER:
            if parse_initializer(field).name not in weights:
                kept.append(field.raw)
        elif field.number == GRAPH_INPUT:
            if _value_name(field) not in weights:
                kept.append(field.raw)
        elif field.number != GRAPH_VALUES:
            kept.append(field.raw)
    return kept


def _value_name(field: MessageField) -> str:
    """The name of an input. Raises ValueError."""
    return next((bytes(part.content).decode() for part in read_fields(field.content) if part.number == 1), "")


def _default_opset(fields: Sequence[MessageField]) -> int:
    """The version of the default operator set, 1 where none is stated. Raises ValueError."""
    for field in fields:
        if field.number == MODEL_OPSETS:
            parts = {part.number: part for part in read_fields(field.content)}
            domain = bytes(parts[OPSET_DOMAIN].content) if OPSET_DOMAIN in parts else b""
            if domain in (b"", b"ai.onnx") and OPSET_VERSION in parts:
                return parts[OPSET_VERSION].integer or 1
    return 1


def _header(fields: Sequence[MessageField]) -> bytes:
    """Fields of the model as they are, but for a version of the file format that is too old."""
    return b"".join(
        encode_integer(MODEL_IR, max(field.integer or 0, _LEAST_IR)) if field.number == MODEL_IR else field.raw
        for field in fields
    )
