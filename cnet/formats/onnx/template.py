"""An ONNX file of a network from which all but the weights is taken; its initializers have the names of the tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cnet import dtypes
from cnet.errors import CnetError
from cnet.formats.onnx.protobuf import MessageField
from cnet.formats.onnx.schema import TYPE_NUMBERS
from cnet.formats.onnx.tensors import OnnxTensor, parse_tensor
from cnet.formats.parsing.quoting import quoted_list
from cnet.formats.writing import TensorsToWrite

MOST_BYTES = 2**31 - 1
"""The longest file that readers of Protocol Buffers accept."""


def template_bytes(template: Path) -> memoryview:
    """The bytes of the file. Raises ValueError where it cannot be a model: a device, for one, has no end."""
    if not template.is_file() or template.stat().st_size > MOST_BYTES:
        raise ValueError(f"{template.name} is not a file of less than 2 GiB")
    return memoryview(template.read_bytes())


def parse_initializer(field: MessageField) -> OnnxTensor:
    """The description of an initializer. Raises ValueError."""
    tensor = parse_tensor(field.content)
    if not tensor.name or not tensor.type:
        raise ValueError("an initializer has no name or no element type")
    return tensor


def check_template(template: Path, tensors: TensorsToWrite, found: Sequence[OnnxTensor]) -> None:
    """Raise CnetError where the graph could not compute with the weights in place of its own."""
    rows = {row.name: row for row in tensors.descriptions}
    names = {tensor.name for tensor in found}
    # exporters write tied tensors once, under any of their names
    names_by_ties = {name for group in tensors.tied if not names.isdisjoint(group) for name in group}
    # integers, such as the count of batches in batch norm, do not change what a network computes
    floating = [row.name for row in rows.values() if dtypes.by_name(row.dtype).floating]
    missing = [name for name in floating if name not in names and name not in names_by_ties]
    different = [
        tensor.name
        for tensor in found
        if (row := rows.get(tensor.name)) and (tensor.shape, tensor.type) != (row.shape, TYPE_NUMBERS[row.dtype])
    ]
    twice = [name for name, count in Counter(tensor.name for tensor in found).items() if count > 1]
    outside = [tensor.name for tensor in found if tensor.external is not None and tensor.name not in rows]
    for faulty, fault, remedy in (
        (missing, "it has no initializers of these names", "Export it with torch.onnx.export(..., optimize=False)."),
        (different, "it has these initializers in other shapes or element types", "Export the same network."),
        (twice, "it has these initializers twice", "Export it again."),
        (outside, "it keeps these initializers in another file", "Save it in one file."),
    ):
        if faulty:
            raise CnetError(f"{template.name}: {fault}: {quoted_list(faulty, 5)}. {remedy}", code="not_alike")
