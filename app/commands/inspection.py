"""Tell a bundle from a checkpoint."""

from __future__ import annotations

import zipfile
from pathlib import Path

_MANIFEST = "manifest.npy"


def is_bundle(path: Path) -> bool:
    """Whether a file is meant as a bundle: a zip archive with a manifest of ours. It may still be damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _MANIFEST in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):  # the last: a zip of a later version
        return False
