"""ONNX files: weights as the initializers of a graph.

A bundle holds weights and no graph. Without one the file is a model whose graph has no nodes and gives every tensor as
an output; with an ONNX file of the same net it is that file with the weights in the place of its own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import CnetError
from cnet.formats.canonical import Described, write_values
from cnet.formats.onnx.protobuf import Field, block, fields, head, number
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
    TYPES,
)
from cnet.formats.onnx.tensor import OnnxTensor, parse_tensor

_MOST_BYTES = 2**31 - 1  # no reader of Protocol Buffers takes a longer file

_IR_VERSION, _OPSET = 9, 19  # of ONNX 1.14, the first that has float8

Pieces = Callable[[str], Iterable[npt.NDArray[np.generic]]]


def write_onnx(
    path: Path,
    rows: Sequence[Described],
    pieces: Pieces,
    like: Path | None = None,
    tied: Sequence[Sequence[str]] = (),
) -> None:
    """Write weights as an ONNX file, piece by piece.

    Args:
        path: the file.
        rows: all tensors.
        pieces: the elements of a tensor, in its storage type and C order, in as many parts as there may be.
        like: an ONNX file of the net whose initializers are called as the tensors are; None: no graph.
        tied: groups of names that share their values, of which one in ``like`` will do.

    Raises:
        CnetError: ``too_large`` for the format; ``not_onnx``, ``not_alike``: what is wrong with ``like``.
    """
    model = _alike(like, rows, tied) if like is not None else _bare(rows)
    length = sum(_length(item) for item in model.graph)
    opening = model.before + head(MODEL_GRAPH, length)
    if len(opening) + length + len(model.after) > _MOST_BYTES:
        raise CnetError("an ONNX file holds less than 2 GiB and this net is larger: take safetensors", code="too_large")
    with path.open("wb") as file:
        file.write(opening)
        for item in model.graph:
            if not isinstance(item, Described):
                file.write(item)
                continue
            file.write(_opening(item))
            write_values(file, pieces(item.name))
        file.write(model.after)


Item = Described | bytes | memoryview
"""A field of the graph: an initializer that is to be written, or bytes as they are."""


@dataclass(frozen=True)
class _Model:
    """The fields of a model before its graph, those of the graph, and those after it."""

    before: bytes
    graph: Sequence[Item]
    after: bytes


def _bare(rows: Sequence[Described]) -> _Model:
    """The weights, and each as an output."""
    opset = block(MODEL_OPSETS, block(OPSET_DOMAIN, b"") + number(OPSET_VERSION, _OPSET))
    outputs = (block(GRAPH_OUTPUT, _output(row)) for row in rows)
    graph: list[Item] = [block(GRAPH_NAME, b"weights"), *rows, *outputs]
    return _Model(number(MODEL_IR, _IR_VERSION) + block(MODEL_PRODUCER, b"cnet"), graph, opset)


def _output(row: Described) -> bytes:
    """A ValueInfoProto: name, element type, shape."""
    shape = b"".join(block(1, number(1, extent)) for extent in row.shape)
    return block(1, row.name.encode()) + block(2, block(1, number(1, TYPES[row.dtype]) + block(2, shape)))


def _opening(row: Described) -> bytes:
    """An initializer but for its values."""
    about = b"".join(number(TENSOR_DIMS, extent) for extent in row.shape)
    about += number(TENSOR_TYPE, TYPES[row.dtype]) + block(TENSOR_NAME, row.name.encode())
    about += head(TENSOR_RAW, row.nbytes)
    return head(GRAPH_INITIALIZER, len(about) + row.nbytes) + about


def _length(item: Item) -> int:
    return len(_opening(item)) + item.nbytes if isinstance(item, Described) else len(item)


def _alike(like: Path, rows: Sequence[Described], tied: Sequence[Sequence[str]]) -> _Model:
    """A model of the same net, with the weights where its own initializers were."""
    own = {row.name: row for row in rows}
    items: list[Item] = []
    found: list[OnnxTensor] = []
    try:
        parts = list(itertools.islice(_split(_content(like), MODEL_GRAPH), 4))  # with one graph there are 3 at most
        (place,) = [index for index, part in enumerate(parts) if isinstance(part, Field)]
        for part in _split(cast("Field", parts[place]).content, GRAPH_INITIALIZER):
            initializer = _initializer(part) if isinstance(part, Field) else None
            if initializer is not None and (initializer.name in own or initializer.external is not None):
                found.append(initializer)
            items.append(own.get(initializer.name, _raw(part)) if initializer is not None else _raw(part))
    except ValueError as error:
        raise CnetError(f"{like.name} is not an ONNX model", code="not_onnx") from error
    _compare(like, own, tied, found)
    before, after = (b"".join(_raw(part) for part in some) for some in (parts[:place], parts[place + 1 :]))
    return _Model(before, items, after)


def _content(like: Path) -> memoryview:
    """The whole file. Raises ValueError where it cannot be a model: a device has no end."""
    if not like.is_file() or like.stat().st_size > _MOST_BYTES:
        raise ValueError("no file of less than 2 GiB")
    return memoryview(like.read_bytes())


def _split(message: memoryview, number: int) -> Iterator[Field | memoryview]:
    """The fields of one number, and whatever lies between them in one: files have more fields than fit in memory."""
    start = end = 0
    for field in fields(message):
        behind = end + len(field.raw)
        if field.number == number:
            if start < end:
                yield message[start:end]
            yield field
            start = behind
        end = behind
    if start < end:
        yield message[start:end]


def _raw(part: Field | memoryview) -> memoryview:
    return part.raw if isinstance(part, Field) else part


def _initializer(field: Field) -> OnnxTensor:
    """Raises ValueError."""
    tensor = parse_tensor(field.content)
    if not tensor.name or not tensor.type:
        raise ValueError("an initializer without name or type")
    return tensor


def _compare(
    like: Path, own: Mapping[str, Described], tied: Sequence[Sequence[str]], found: Sequence[OnnxTensor]
) -> None:
    """Raises CnetError where the graph would not compute with the weights as they are."""
    there = {each.name: each for each in found}
    # exporters write tied tensors once, under any of their names
    there_too = {name for group in tied if not there.keys().isdisjoint(group) for name in group}
    # integers, such as the batches that batch norm has seen, are no part of what a net computes
    floating = [row.name for row in own.values() if dtypes.by_name(row.dtype).floating]
    missing = [name for name in floating if name not in there and name not in there_too]
    other = [
        each.name
        for each in found
        if (row := own.get(each.name)) and (each.shape, each.type) != (row.shape, TYPES[row.dtype])
    ]
    twice = [name for name, times in Counter(each.name for each in found).items() if times > 1]
    outside = [each.name for each in found if each.external is not None and each.name not in own]
    for names, fault in (
        (missing, "has no initializers of these names (torch.onnx.export with optimize=False keeps them)"),
        (other, "has these in other shapes or element types"),
        (twice, "has these twice"),
        (outside, "keeps these outside of the file, and they are not in the bundle"),
    ):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise CnetError(f"{like.name} {fault}: {', '.join(names[:5])}{more}", code="not_alike")
