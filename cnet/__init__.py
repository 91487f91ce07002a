"""Compress trained networks: prune, quantize, encode; and read what comes out.

``open_bundle`` reads a bundle, ``load_into`` loads one into a PyTorch module, ``compress`` makes one from a module.
``Client`` and ``AsyncClient`` talk to a server. Importing this package and reading a bundle needs no PyTorch; what
needs more is imported when it is first used.
"""

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

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
    from cnet.bundle import Bundle, open_bundle
    from cnet.bundle.loading import load_into, load_state_dict
    from cnet.client import AsyncClient, Client
    from cnet.pipeline.local.compress_module import compress
    from cnet.training.programs import export_program

    __version__: str

__all__ = [
    "ArchitectureMismatchError",
    "AsyncClient",
    "Bundle",
    "BundleError",
    "CheckpointError",
    "Client",
    "CnetError",
    "ConstraintNotMetError",
    "DatasetError",
    "ProgramError",
    "SpecError",
    "StoppedError",
    "TrainingError",
    "compress",
    "export_program",
    "load_into",
    "load_state_dict",
    "open_bundle",
]

_IMPORTED_WHEN_USED = {
    "AsyncClient": "cnet.client",
    "Bundle": "cnet.bundle",
    "Client": "cnet.client",
    "compress": "cnet.pipeline.local.compress_module",
    "export_program": "cnet.training.programs",
    "load_into": "cnet.bundle.loading",
    "load_state_dict": "cnet.bundle.loading",
    "open_bundle": "cnet.bundle",
}


def __getattr__(name: str) -> Any:
    if name in _IMPORTED_WHEN_USED:
        return getattr(importlib.import_module(_IMPORTED_WHEN_USED[name]), name)
    if name == "__version__":  # looked up when asked for: it reads the installed package's metadata
        return metadata.version("cnet")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
