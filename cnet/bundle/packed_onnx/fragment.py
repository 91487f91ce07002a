"""Nodes and initializers of a part of an ONNX graph, whose bytes are counted before they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.arrays import raw_bytes
from cnet.formats.onnx.protobuf import encode_bytes, encode_integer
from cnet.formats.onnx.schema import GRAPH_NODE, NODE_ATTRIBUTE, TYPE_NUMBERS
from cnet.formats.onnx.writer import initializer_head
from cnet.formats.writing import TensorDescription

Array = npt.NDArray[np.generic]

_NODE_INPUT, _NODE_OUTPUT, _NODE_OPERATOR = 1, 2, 4
_ATTRIBUTE_NAME, _ATTRIBUTE_INTEGER, _ATTRIBUTE_STRING, _ATTRIBUTE_TYPE = 1, 3, 4, 20
_INTEGER, _STRING = 2, 3  # types of attributes


@dataclass(frozen=True)
class Node:
    """A node with one output.

    Attributes:
        operator: of the default operator set.
        inputs: names of values.
        output: name of its output.
        attributes: integers and strings by name.
    """

    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, int | str]

    def encode(self) -> bytes:
        """The node as a field of the graph."""
        content = b"".join(encode_bytes(_NODE_INPUT, name.encode()) for name in self.inputs)
        content += encode_bytes(_NODE_OUTPUT, self.output.encode()) + encode_bytes(
            _NODE_OPERATOR, self.operator.encode()
        )
        for name, value in self.attributes.items():
            content += encode_bytes(NODE_ATTRIBUTE, _attribute(name, value))
        return encode_bytes(GRAPH_NODE, content)


def _attribute(name: str, value: int | str) -> bytes:
    about = encode_bytes(_ATTRIBUTE_NAME, name.encode())
    if isinstance(value, str):
        return about + encode_bytes(_ATTRIBUTE_STRING, value.encode()) + encode_integer(_ATTRIBUTE_TYPE, _STRING)
    return about + encode_integer(_ATTRIBUTE_INTEGER, value) + encode_integer(_ATTRIBUTE_TYPE, _INTEGER)


@dataclass(frozen=True, eq=False)
class Initializer:
    """A tensor of the graph.

    Attributes:
        row: its name, element type and shape.
        data: its values in the storage type of the element type, any shape.
    """

    row: TensorDescription
    data: Array

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return len(initializer_head(self.row)) + self.row.nbytes

    def encode(self) -> Iterator[bytes | memoryview]:
        """The initializer as a field of the graph."""
        yield initializer_head(self.row)
        yield raw_bytes(self.data)


class Names:
    """New names of values: a prefix that the model does not contain, and a number."""

    def __init__(self, model: memoryview | bytes = b"") -> None:
        prefix, content = "cnet.", bytes(model)
        while prefix.encode() in content:
            prefix = f"_{prefix}"
        self._prefix = prefix
        self._count = 0

    def new(self) -> str:
        """A name that no other value has."""
        self._count += 1
        return f"{self._prefix}{self._count:x}"

    def shared(self, text: str) -> str:
        """The name of a constant that several nodes use."""
        return f"{self._prefix}{text}"


class Fragment:
    """A part of a graph that is being built.

    Args:
        names: where its names come from.

    Attributes:
        nodes: in the order in which they compute.
        initializers: with those that other fragments may also have, under the same names.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self.nodes: list[Node] = []
        self.initializers: dict[str, Initializer] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the fragment in the file."""
        initializers = sum(each.nbytes for each in self.initializers.values())
        return initializers + sum(len(node.encode()) for node in self.nodes)

    def node(self, operator: str, *inputs: str, **attributes: int | str) -> str:
        """Add a node; the name of its output."""
        self.nodes.append(Node(operator, inputs, self._names.new(), attributes))
        return self.nodes[-1].output

    def cast(self, value: str, dtype: str) -> str:
        """Add a node that converts to the element type of this name."""
        return self.node("Cast", value, to=TYPE_NUMBERS[dtype])

    def initializer(self, data: Array, dtype: str | None = None, name: str | None = None) -> str:
        """Add a tensor; its name.

        Args:
            data: of any shape, C-contiguous.
            dtype: name of the element type; None: that of the array.
            name: None: a new one.
        """
        row = TensorDescription(name or self._names.new(), dtype or data.dtype.name, data.shape)
        self.initializers[row.name] = Initializer(row, data)
        return row.name

    def scalar(self, value: float, dtype: str) -> str:
        """A scalar of an element type that NumPy has; all fragments share it."""
        return self.initializer(np.array(value, dtype), name=self._names.shared(f"{dtype}_{value}"))

    def vector(self, values: tuple[int, ...]) -> str:
        """Integers (a shape, the ends of a slice), int64; all fragments share them."""
        text = "x".join(map(str, values))
        return self.initializer(np.array(values, np.int64), name=self._names.shared(f"int64_{text}"))

    def name_last(self, name: str) -> None:
        """Give the output of the last node this name."""
        self.nodes[-1] = replace(self.nodes[-1], output=name)
