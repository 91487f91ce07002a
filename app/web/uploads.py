"""The visitor's uploaded files, of which a form lets them choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from app import formatting
from app.api.backend import Backend
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile

_MOST = 200


@dataclass(frozen=True)
class KnownFile:
    """A file that can be chosen: its id, and what the list shows of it."""

    id: str
    title: str

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """The entry of a stored file: its name, its size, when it came."""
        name = stored.filename or formatting.short_id(stored.id)
        return cls(stored.id, f"{name}, {formatting.size(stored.size_bytes)}, {formatting.moment(stored.created_at)}")


@dataclass(frozen=True)
class KnownFiles:
    """The newest files of each kind."""

    checkpoints: Sequence[KnownFile]
    programs: Sequence[KnownFile]
    datasets: Sequence[KnownFile]


def known_files(backend: Backend, owner: OwnerFilter) -> KnownFiles:
    """The newest files of an owner."""
    kinds = (backend.checkpoints, backend.programs, backend.datasets)
    return KnownFiles(*([KnownFile.of(each) for each in kind.find(owner, _MOST, None)] for kind in kinds))
