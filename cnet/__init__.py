"""Compress trained networks: prune, quantize, encode; and read what comes out.

``open_bundle`` reads a bundle; ``cnet.spec.JobSpec`` and ``cnet.pipeline.run`` make one. Importing this package and
reading a bundle needs no PyTorch; ``compress`` and ``export_program`` import it when they are first used.
"""

from importlib import metadata
from typing import TYPE_CHECKING, Any

from cnet.bundle import Bundle, open_bundle
from cnet.errors import (
    ArchitectureMismatchError,
    BundleError,
    CheckpointError,
    CnetError,
    ConstraintNotMetError,
    DatasetError,
    ProgramError,
    SpecError,
    StoppedError,
    TrainingError,
)

if TYPE_CHECKING:
    from cnet.pipeline.local.compress_module import compress
    from cnet.training.programs import export_program

    __version__: str

__all__ = [
    "ArchitectureMismatchError",
    "Bundle",
    "BundleError",
    "CheckpointError",
    "CnetError",
    "ConstraintNotMetError",
    "DatasetError",
    "ProgramError",
    "SpecError",
    "StoppedError",
    "TrainingError",
    "compress",
    "export_program",
    "open_bundle",
]


def __getattr__(name: str) -> Any:
    if name == "compress":
        from cnet.pipeline.local.compress_module import compress

        return compress
    if name == "export_program":
        from cnet.training.programs import export_program

        return export_program
    if name == "__version__":  # looked up when asked for: it reads the installed package's metadata
        return metadata.version("cnet")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
