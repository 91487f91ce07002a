"""Writer of ONNX files: weights as the initializers of a graph.

Weights come without a graph. The file is a model whose graph has no nodes and has every tensor as an output; or, given
an ONNX file of the same network as a template, a copy of that file with the weights in place of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cnet.errors import CnetError
from cnet.formats.onnx.protobuf import MessageField, encode_bytes, encode_head, encode_integer, read_fields
from cnet.formats.onnx.schema import (
    GRAPH_INITIALIZER,
    GRAPH_NAME,
    GRAPH_OUTPUT,
    MODEL_GRAPH,
    MODEL_IR,
    MODEL_OPSETS,
    MODEL_PRODUCER,
    OPSET_DOMAIN,
    OPSET_VERSION,
    TENSOR_DIMS,
    TENSOR_NAME,
    TENSOR_RAW,
    TENSOR_TYPE,
    TYPE_NUMBERS,
)
from cnet.formats.onnx.template import MOST_BYTES, check_template, parse_initializer, template_bytes
from cnet.formats.onnx.tensors import OnnxTensor
from cnet.formats.writing import TensorDescription, TensorsToWrite, write_chunks

_IR_VERSION, _OPSET = 9, 19  # of ONNX 1.14, the first release with float8


def write_onnx(path: Path, tensors: TensorsToWrite, template: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
    """Write weights as an ONNX file, chunk by chunk.

    Args:
        path: the file, replaced where it exists.
        tensors: what to write. Of a tied group, one tensor in the template is enough.
        template: an ONNX file of the network whose initializers have the names of the tensors; None: no graph.
        most_bytes: the longest file that may be written.

    Raises:
        CnetError: ``too_large`` for the format; ``not_onnx`` or ``not_alike`` where the template cannot be used.
    """
    model = _model_without_graph(tensors) if template is None else _model_like(template, tensors)
    length = sum(_length(field) for field in model.graph)
    beginning = model.before + encode_head(MODEL_GRAPH, length)
    total = len(beginning) + length + len(model.after)
    if total > most_bytes:
        raise CnetError(
            f"format 'onnx': the file would have {total} bytes, and less than 2 GiB are possible. Write safetensors.",
            code="too_large",
        )
    with path.open("wb") as file:
        file.write(beginning)
        for field in model.graph:
            if not isinstance(field, TensorDescription):
                file.write(field)
                continue
            file.write(initializer_head(field))
            write_chunks(file, tensors.chunks(field.name))
        file.write(model.after)


GraphField = TensorDescription | bytes | memoryview
"""A field of the graph: a tensor that becomes an initializer, or the bytes of any field."""


@dataclass(frozen=True)
class _ModelParts:
    """The fields of a model before its graph, those of the graph, and those after it."""

    before: bytes
    graph: Sequence[GraphField]
    after: bytes


def _model_without_graph(tensors: TensorsToWrite) -> _ModelParts:
    """A model whose graph has only initializers, each of which is an output too."""
    rows = tensors.descriptions
    opset = encode_bytes(MODEL_OPSETS, encode_bytes(OPSET_DOMAIN, b"") + encode_integer(OPSET_VERSION, _OPSET))
    outputs = (encode_bytes(GRAPH_OUTPUT, output_of(row)) for row in rows)
    graph: list[GraphField] = [encode_bytes(GRAPH_NAME, b"weights"), *rows, *outputs]
    return _ModelParts(encode_integer(MODEL_IR, _IR_VERSION) + encode_bytes(MODEL_PRODUCER, b"cnet"), graph, opset)


def output_of(row: TensorDescription) -> bytes:
    """An output of the graph, a ValueInfoProto: name, element type, shape."""
    shape = b"".join(encode_bytes(1, encode_integer(1, extent)) for extent in row.shape)
    tensor_type = encode_integer(1, TYPE_NUMBERS[row.dtype]) + encode_bytes(2, shape)
    return encode_bytes(1, row.name.encode()) + encode_bytes(2, encode_bytes(1, tensor_type))


def initializer_head(row: TensorDescription) -> bytes:
    """The bytes of an initializer before its values."""
    about = b"".join(encode_integer(TENSOR_DIMS, extent) for extent in row.shape)
    about += encode_integer(TENSOR_TYPE, TYPE_NUMBERS[row.dtype]) + encode_bytes(TENSOR_NAME, row.name.encode())
    about += encode_head(TENSOR_RAW, row.nbytes)
    return encode_head(GRAPH_INITIALIZER, len(about) + row.nbytes) + about


def _length(field: GraphField) -> int:
    return len(initializer_head(field)) + field.nbytes if isinstance(field, TensorDescription) else len(field)


def _model_like(template: Path, tensors: TensorsToWrite) -> _ModelParts:
    """The model of the template, with the weights in place of its initializers."""
    rows = {row.name: row for row in tensors.descriptions}
    fields: list[GraphField] = []
    found: list[OnnxTensor] = []
    try:
        parts = list(
            itertools.islice(_split(template_bytes(template), MODEL_GRAPH), 4)
        )  # a model with one graph has 3 at most
        (index,) = [index for index, part in enumerate(parts) if isinstance(part, MessageField)]
        for part in _split(cast("MessageField", parts[index]).content, GRAPH_INITIALIZER):
            initializer = parse_initializer(part) if isinstance(part, MessageField) else None
            if initializer is not None and (initializer.name in rows or initializer.external is not None):
                found.append(initializer)
            fields.append(rows.get(initializer.name, _raw(part)) if initializer is not None else _raw(part))
    except ValueError as error:
        raise CnetError(f"{template.name}: it is not an ONNX model. Name an ONNX file.", code="not_onnx") from error
    check_template(template, tensors, found)
    before, after = (b"".join(_raw(part) for part in some) for some in (parts[:index], parts[index + 1 :]))
    return _ModelParts(before, fields, after)


def _split(message: memoryview, number: int) -> Iterator[MessageField | memoryview]:
    """The fields of one number, and the bytes of all fields between two of them joined, since fields may be many."""
    start = end = 0
    for field in read_fields(message):
        behind = end + len(field.raw)
        if field.number == number:
            if start < end:
                yield message[start:end]
            yield field
            start = behind
        end = behind
    if start < end:
        yield message[start:end]


def _raw(part: MessageField | memoryview) -> memoryview:
    return part.raw if isinstance(part, MessageField) else part
