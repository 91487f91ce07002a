"""The visitor's uploaded files, of which a form lets them choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from app import formatting
from app.api.backend import Backend
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile

_MOST = 200


@dataclass(frozen=True)
class KnownFile:
    """A file that can be chosen: its id, what the list shows of it, and its digest with its name."""

    id: str
    title: str
    content: str

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """The entry of a stored file: its name, its size, when it came."""
        name = stored.filename or formatting.short_id(stored.id)
        title = f"{name}, {formatting.size(stored.size_bytes)}, {formatting.moment(stored.created_at)}"
        return cls(stored.id, title, f"{stored.sha256} {name}")


@dataclass(frozen=True)
class KnownFiles:
    """The newest files of each kind."""

    checkpoints: Sequence[KnownFile]
    programs: Sequence[KnownFile]
    datasets: Sequence[KnownFile]


def known_files(backend: Backend, owner: OwnerFilter) -> KnownFiles:
    """The newest files of an owner. Of equal files with one name there is the newest upload alone."""
    kinds = (backend.checkpoints, backend.programs, backend.datasets)
    return KnownFiles(*(_latest(KnownFile.of(each) for each in kind.find(owner, _MOST, None)) for kind in kinds))


def _latest(files: Iterable[KnownFile]) -> list[KnownFile]:
    """The first of those that hold the same under the same name, in their order, newest first."""
    found: dict[str, KnownFile] = {}
    for file in files:
        found.setdefault(file.content, file)
    return list(found.values())
