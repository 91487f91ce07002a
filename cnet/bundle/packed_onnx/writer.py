"""Writes a bundle as an ONNX model whose weights stay packed.

The nodes that decode come first in the graph, then those of the network. Without a template the model has no inputs,
and its outputs are all tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cnet.bundle.packed_onnx.fragment import Fragment, Initializer, Names
from cnet.bundle.packed_onnx.graph_template import GraphTemplate, empty_template, read_template
from cnet.bundle.packed_onnx.network import PackedNetwork, descriptions, packed_elements
from cnet.bundle.reader import Bundle
from cnet.errors import CnetError
from cnet.files import atomic_path
from cnet.formats.onnx.protobuf import encode_head
from cnet.formats.onnx.schema import MODEL_GRAPH
from cnet.formats.onnx.template import MOST_BYTES
from cnet.formats.writing import TensorsToWrite

PACKED_ONNX = "onnx-packed"
"""The name of the format."""


@dataclass(frozen=True)
class PackedReport:
    """What was written.

    Attributes:
        packed: names of the tensors that are stored as codes.
        packed_elements: number of their elements.
        other: names of the tensors that are stored as they are.
    """

    packed: tuple[str, ...]
    packed_elements: int
    other: tuple[str, ...]


def write_packed_onnx(bundle: Bundle, path: Path, template: Path | None = None) -> PackedReport:
    """Write a bundle as an ONNX model whose weights stay packed, completely or not at all.

    The values that its nodes give are those that the bundle decodes to, bit for bit; only the products of two factors
    (transform ``low_rank``) are summed by the runtime, in float32.

    Args:
        bundle: what to write.
        path: the file, replaced where it exists.
        template: an ONNX file of the same network, whose graph is copied; None: the outputs of the model are its
            tensors.

    Raises:
        BundleError: the bundle is damaged; nothing is written.
        CnetError: ``too_large`` for the format; ``not_onnx`` or ``not_alike`` where the template cannot be used.
    """
    tensors = TensorsToWrite(descriptions(bundle), bundle.chunks, bundle.tied)
    graph = empty_template(tensors) if template is None else read_template(template, tensors)
    fragments = dict(PackedNetwork(bundle, Names(graph.content)).tensors(graph.wanted))
    _write(path, graph, [each.fragment for each in fragments.values()])
    packed = tuple(name for name, each in fragments.items() if each.packed)
    other = tuple(name for name, each in fragments.items() if not each.packed)
    return PackedReport(packed, packed_elements(bundle, packed), other)


def _write(path: Path, graph: GraphTemplate, fragments: Iterable[Fragment]) -> None:
    nodes: list[bytes] = []
    initializers: dict[str, Initializer] = {}
    for fragment in fragments:
        nodes += (node.encode() for node in fragment.nodes)
        initializers |= fragment.initializers
    length = sum(map(len, nodes)) + sum(each.nbytes for each in initializers.values()) + sum(map(len, graph.graph))
    total = len(graph.before) + len(encode_head(MODEL_GRAPH, length)) + length + len(graph.after)
    if total > MOST_BYTES:
        raise CnetError(
            f"format {PACKED_ONNX!r}: the file would have {total} bytes, and less than 2 GiB are possible. "
            "Write safetensors.",
            code="too_large",
        )
    with atomic_path(path) as draft, draft.open("wb") as file:
        file.writelines([graph.before, encode_head(MODEL_GRAPH, length), *nodes, *graph.graph])
        for initializer in initializers.values():
            file.writelines(initializer.encode())
        file.write(graph.after)
