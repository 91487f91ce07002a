"""Values of ONNX tensors that are in another file, beside the model (``TensorProto.external_data``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from cnet.formats.onnx import schema
from cnet.formats.onnx.protobuf import read_fields
from cnet.formats.onnx.schema import TENSOR_EXTERNAL
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.mapped_file import MappedFile
from cnet.formats.parsing.quoting import quoted

OpenExternal = Callable[[str], MappedFile | None]
"""A function from the name of another file, relative to the model, to that file; None where there is none."""


def external_entries(message: memoryview) -> dict[str, str]:
    """What a tensor states of its values in another file: ``location``, ``offset``, ``length``. Raises ValueError."""
    found = {}
    for field in read_fields(message):
        if field.number == TENSOR_EXTERNAL:
            entry = {part.number: part for part in read_fields(field.content) if part.number <= schema.ENTRY_VALUE}
            key, value = (
                bytes(entry[number].content).decode() if number in entry else ""
                for number in (schema.ENTRY_KEY, schema.ENTRY_VALUE)
            )
            found[key] = value
    return found


def external_bytes(name: str, entries: Mapping[str, str], file: MappedFile, nbytes: int) -> npt.NDArray[np.uint8]:
    """The bytes of a tensor in another file, uint8, shape (nbytes,): a view.

    Args:
        name: of the tensor, for messages.
        entries: what the model states.
        file: the other file.
        nbytes: bytes of all its elements.

    Raises:
        CheckpointError: (``corrupt``) the stated bytes are not those of the tensor, or not in the file.
    """
    start, length = _natural(entries.get("offset", "0")), _natural(entries.get("length", str(nbytes)))
    if start is None or length != nbytes or start + nbytes > file.size:
        raise damaged(f"tensor {quoted(name)}", "its values do not lie within the other file as stated")
    return file.array(start, nbytes)


def _natural(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
