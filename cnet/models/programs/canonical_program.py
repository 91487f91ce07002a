"""The canonical form of a program, to which every archive is rewritten: a safetensors file.

It holds the tensors, and in the header's ``__metadata__`` the entry ``program``: the normal form of the graph as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cnet.errors import CheckpointError, ProgramError
from cnet.formats.canonical_file import read_canonical
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.safetensors import read_metadata, write_safetensors
from cnet.formats.writing import TensorsToWrite
from cnet.models.programs.document import Program
from cnet.weights import Weights

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


def state_dict_of(program: Program, weights: Weights) -> Weights:
    """The tensors of ``weights``, those of a program, that are part of the user's ``state_dict``, in their order."""
    names = {tensor.name for tensor in program.tensors if tensor.kind in {"parameter", "buffer"}}
    tied = [[name for name in group if name in names] for group in weights.tied]
    return Weights.select(
        [tensor for tensor in weights if tensor.name in names], tied=[group for group in tied if len(group) > 1]
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
    return StoredProgram(Program.from_json(metadata.get(_METADATA_KEY, "")), weights)
