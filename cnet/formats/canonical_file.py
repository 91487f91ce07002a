"""The canonical form of weights, which every checkpoint is rewritten to: a safetensors file.

What ``write_canonical`` writes is the same for the same weights, and any reader of safetensors files can read it. A
safetensors file that has nothing to rewrite is canonical as it is (``is_canonical``).
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


def is_canonical(path: Path, weights: Weights) -> bool:
    """Whether a safetensors file can stay as it is: ``read_canonical`` gives the same weights, none of them copied.

    Args:
        path: the file.
        weights: what was read from it.
    """
    contents = read_safetensors(MappedFile.open(path), Limits())
    stored = contents.root
    if not isinstance(stored, dict) or list(stored) != [tensor.name for tensor in weights]:
        return False
    if contents.tied != weights.tied or dict(contents.metadata) != dict(weights.metadata):
        return False
    # values that begin at an odd byte cannot be used in place
    return not any(stored[name].load(name).data.flags.owndata for name in stored)


def read_canonical(path: Path, selection: Selection | None = None) -> Weights:
    """Map a canonical file. The arrays are read-only; the file must not change while they are in use.

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
