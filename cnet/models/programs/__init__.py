"""Programs: a user's own architecture as data, read from a ``torch.export`` archive of which nothing is run.

``read_program`` reads an archive; ``Program`` is the normal form that is stored (``write_canonical_program``) and built
from then on.
"""

from cnet.models.programs.archive import is_program
from cnet.models.programs.canonical_program import StoredProgram, read_canonical_program, write_canonical_program
from cnet.models.programs.document import Program, ProgramInput, ProgramOutput, ProgramTensor
from cnet.models.programs.manifest import ProgramManifest
from cnet.models.programs.matching import TensorType, filled_weights, match_names
from cnet.models.programs.reader import ProgramArchive, read_program

__all__ = [
    "Program",
    "ProgramArchive",
    "ProgramInput",
    "ProgramManifest",
    "ProgramOutput",
    "ProgramTensor",
    "StoredProgram",
    "TensorType",
    "filled_weights",
    "is_program",
    "match_names",
    "read_canonical_program",
    "read_program",
    "write_canonical_program",
]
