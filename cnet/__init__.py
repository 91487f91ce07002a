"""Compress trained networks: prune, quantize, encode; and read what comes out.

``open_bundle`` reads a bundle; ``cnet.spec.JobSpec`` and ``cnet.pipeline.run`` make one. Importing this package and
reading a bundle needs no PyTorch.
"""

from importlib import metadata
from typing import TYPE_CHECKING

from cnet.bundle import Bundle, open_bundle
from cnet.errors import (
    ArchitectureMismatchError,
    BundleError,
    CheckpointError,
    CnetError,
    ConstraintNotMetError,
    DatasetError,
    SpecError,
    StoppedError,
    TrainingError,
)

if TYPE_CHECKING:
    __version__: str

__all__ = [
    "ArchitectureMismatchError",
    "Bundle",
    "BundleError",
    "CheckpointError",
    "CnetError",
    "ConstraintNotMetError",
    "DatasetError",
    "SpecError",
    "StoppedError",
    "TrainingError",
    "open_bundle",
]


def __getattr__(name: str) -> str:
    if name == "__version__":  # looked up when asked for: it reads the installed package's metadata
        return metadata.version("cnet")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
