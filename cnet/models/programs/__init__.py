"""Programs: a user's own architecture as data, read from a ``torch.export`` archive without running anything of it.

``read_program`` reads an archive; ``Program`` is the normal form that is stored and built from then on.
"""

from cnet.models.programs.document import Program, ProgramInput, ProgramOutput, ProgramTensor
from cnet.models.programs.reader import ProgramArchive, read_program

__all__ = ["Program", "ProgramArchive", "ProgramInput", "ProgramOutput", "ProgramTensor", "read_program"]
