"""The canonical form of a program, to which every archive is rewritten: a safetensors file.

It holds the tensors, and in the header's ``__metadata__`` the entry ``program``: the normal form of the graph as JSON.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cnet import arrays
from cnet.errors import CheckpointError, ProgramError
from cnet.formats.canonical_file import read_canonical
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.safetensors import read_metadata, write_safetensors
from cnet.formats.writing import TensorsToWrite
from cnet.models.programs.document import Program
from cnet.weights import Selection, Weights

_METADATA_KEY = "program"


@dataclass(frozen=True, eq=False)
class StoredProgram:
    """A program in its canonical form.

    Attributes:
        program: the network in normal form.
        weights: parameters, buffers and constants, as in ``ProgramArchive``.
    """

    program: Program
    weights: Weights

    @property
    def state_dict(self) -> Weights:
        """The tensors of the user's ``state_dict``: parameters and persistent buffers, in their order."""
        return state_dict_of(self.program, self.weights)

    @property
    def buffers(self) -> frozenset[str]:
        """Names of the tensors that are not parameters."""
        return frozenset(tensor.name for tensor in self.program.tensors if tensor.kind != "parameter")

    def digest(self) -> str:
        """SHA-256, hex, of the graph and of the constants, but not of the weights, which a job may replace."""
        total = hashlib.sha256(self.program.to_json().encode())
        own = {tensor.name for tensor in self.state_dict}
        total.update(arrays.digest([tensor.data for tensor in self.weights if tensor.name not in own]).encode())
        return total.hexdigest()


def state_dict_of(program: Program, weights: Weights) -> Weights:
    """The tensors of ``weights``, those of a program, that are part of the user's ``state_dict``, in their order."""
    names = {tensor.name for tensor in program.tensors if tensor.kind in {"parameter", "buffer"}}
    tied = [tuple(name for name in group if name in names) for group in weights.tied]
    return Weights(
        tuple(tensor for tensor in weights if tensor.name in names),
        tuple(name for name in weights.compressible if name in names),
        tuple(group for group in tied if len(group) > 1),
    )


def write_canonical_program(path: Path, program: Program, weights: Weights) -> None:
    """Write a program to ``path``, which is replaced where it exists. The same program gives the same bytes.

    Raises OSError where there is no space.
    """
    write_safetensors(path, TensorsToWrite.of(weights), {_METADATA_KEY: program.to_json()})


def read_canonical_program(path: Path) -> StoredProgram:
    """Map what ``write_canonical_program`` wrote. The file must not change while the tensors are in use.

    Raises:
        ProgramError: (``corrupt``) the file is damaged.
        OSError: it cannot be opened.
    """
    try:
        metadata = read_metadata(MappedFile.open(path), Limits())
        weights = read_canonical(path)
    except CheckpointError as error:
        raise ProgramError(error.detail, code="corrupt") from error
    program = Program.from_json(metadata.get(_METADATA_KEY, ""))
    buffers = frozenset(tensor.name for tensor in program.tensors if tensor.kind != "parameter")
    return StoredProgram(program, Weights.select(weights.tensors, Selection(tables=buffers), weights.tied))
