"""One moment of a folder whose files are replaced while it is read: which files there are, and those that are new."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Self

Identity = tuple[str, object]
"""Path of a file in the folder, and what tells this version of the file from others."""

_UNFINISHED = ".draft"


@dataclass(frozen=True)
class FolderMoment:
    """What a folder held at one moment.

    Attributes:
        identities: of all files.
        opened: the files that were not known, open for reading. They keep their content when they are replaced.
    """

    identities: Collection[Identity]
    opened: dict[Identity, BufferedReader]

    @classmethod
    @contextmanager
    def of(cls, folder: Path, known: Collection[Identity]) -> Iterator[Self]:
        """The folder now. Its new files are open until the context ends.

        Between two looks at the folder that find the same files, nothing was replaced: what was opened in between
        belongs together.
        """
        before = _identities(folder)
        while True:
            with ExitStack() as stack:
                opened: dict[Identity, BufferedReader] = {}
                for one in before.keys() - known:
                    file = _opened(folder / one[0])
                    if file is not None:
                        opened[one] = stack.enter_context(file)
                after = _identities(folder)
                if after.keys() == before.keys():
                    yield cls(before.keys(), opened)
                    return
            before = after


def files_of(folder: Path) -> Iterator[str]:
    """The paths of the finished files in a folder, relative to it, in a fixed order."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.endswith(_UNFINISHED):
                yield str((Path(parent) / name).relative_to(folder))


def _identities(folder: Path) -> dict[Identity, None]:
    found: dict[Identity, None] = {}
    for path in files_of(folder):
        try:
            state = (folder / path).stat()
        except FileNotFoundError:  # it was removed in the meantime, which the second look finds
            continue
        found[path, (state.st_ino, state.st_mtime_ns, state.st_size)] = None
    return found


def _opened(path: Path) -> BufferedReader | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
