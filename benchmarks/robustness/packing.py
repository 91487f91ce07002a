"""Archives of files, and pickles that would run a command."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import zipfile
from collections.abc import Mapping


class RunsACommand:
    """An object whose pickle makes the file ``executed`` when a pickle module loads it."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """What the pickle calls."""
        return os.system, ("touch executed",)


def hostile_pickle(protocol: int = 2) -> bytes:
    """A pickle of ``RunsACommand``."""
    return pickle.dumps(RunsACommand(), protocol)


def zipped(files: Mapping[str, bytes], *, deflated: bool = True) -> bytes:
    """A zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    """A tar archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def gzipped(content: bytes) -> bytes:
    """The content compressed, without a time."""
    return gzip.compress(content, 1, mtime=0)
