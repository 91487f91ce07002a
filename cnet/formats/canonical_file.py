"""The canonical form of weights, which every checkpoint is rewritten to: a safetensors file.

The same weights give the same bytes, and any reader of safetensors files can read it (``write_safetensors``).
"""

from __future__ import annotations

from pathlib import Path

from cnet.formats.parsing.contents import StoredTensor, damaged
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.safetensors import read_safetensors, write_safetensors
from cnet.formats.writing import TensorsToWrite
from cnet.weights import Selection, Weights


def write_canonical(path: Path, weights: Weights) -> None:
    """Write ``weights`` to ``path``, which is replaced where it exists. Raises OSError where there is no space."""
    write_safetensors(path, TensorsToWrite.of(weights))


def read_canonical(path: Path, selection: Selection | None = None) -> Weights:
    """Map what ``write_canonical`` wrote. The arrays are read-only; the file must not change while they are in use.

    Args:
        path: the file.
        selection: which tensors are compressible; the default rule where None.

    Raises:
        CheckpointError: the file is damaged.
        OSError: it cannot be opened.
    """
    contents = read_safetensors(MappedFile.open(path), Limits())
    if not isinstance(contents.root, dict):
        raise damaged("the canonical file", "it has no tensors")
    stored: dict[str, StoredTensor] = contents.root
    return Weights.select(
        [tensor.load(name) for name, tensor in stored.items()], selection, contents.tied, contents.metadata
    )
