"""The canonical form of weights: one safetensors file, the same bytes for the same weights.

Its header lists the tensors in the order of the checkpoint, tied copies too. The data lie by falling element size, so
that every tensor is aligned and can be used in place, and start at a multiple of 8 bytes. ``__metadata__`` has one
entry, ``cnet``: JSON with ``version`` and the ``tied`` groups. Any safetensors reader can read it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cnet import dtypes
from cnet.checkpoint._base import Limits, Source
from cnet.checkpoint.safetensors import METADATA_KEY, read_safetensors
from cnet.errors import CheckpointError
from cnet.weights import Selection, Tensor, Weights

_ALIGNMENT = 8


def write_canonical(path: Path, weights: Weights) -> None:
    """Write ``weights`` to a new file or over an old one. Raises OSError where there is no space."""
    by_size = sorted(weights, key=lambda tensor: -tensor.data.itemsize)  # stable: the order of the file within a size
    header = _header(weights, by_size)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for tensor in by_size:
            if tensor.size:
                file.write(tensor.data.reshape(-1).data.cast("B"))


def read_canonical(path: Path, selection: Selection | None = None) -> Weights:
    """Map what ``write_canonical`` wrote. The arrays are read-only; the file must stay as it is while they live.

    Args:
        path: the file.
        selection: which tensors are compressible; the default rule where None.

    Raises:
        CheckpointError: the file is damaged.
        OSError: it cannot be opened.
    """
    document = read_safetensors(Source.open(path), Limits())
    if not isinstance(document.root, dict):
        raise CheckpointError("the canonical file is damaged", code="corrupt")
    tensors = [leaf.load(name) for name, leaf in document.root.items()]
    return Weights.select(tensors, selection, document.tied)


def _header(weights: Weights, by_size: list[Tensor]) -> bytes:
    offsets, position = {}, 0
    for tensor in by_size:
        offsets[tensor.name] = [position, position + tensor.data.nbytes]
        position += tensor.data.nbytes
    stated = json.dumps({"version": 1, "tied": weights.tied}, ensure_ascii=False, separators=(",", ":"))
    header: dict[str, Any] = {"__metadata__": {METADATA_KEY: stated}}
    for tensor in weights:
        code = dtypes.by_name(tensor.dtype).safetensors
        header[tensor.name] = {"dtype": code, "shape": tensor.shape, "data_offsets": offsets[tensor.name]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % _ALIGNMENT)
