"""A resumable upload: a row of the table ``uploads``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import RowMapping


@dataclass(frozen=True)
class Upload:
    """A file that a client sends in one or more requests.

    Attributes:
        upload_metadata: the header ``Upload-Metadata`` as the client sent it.
        received_bytes: how many bytes are stored for certain; the offset at which the client goes on.
        sha256: of the whole file in hex; None until all of it is there.
        writer: names the request that appends bytes now; None where there is none. The row changes on behalf of that
            request alone, so that a request that was given up cannot move the offset any more.
        interrupted: whether another request asks the writer to end.
        active_at: when the writer last stored bytes, or began.
    """

    id: str
    owner: str
    filename: str | None
    purpose: str | None
    upload_metadata: str
    size_bytes: int
    received_bytes: int
    sha256: str | None
    writer: str | None
    interrupted: bool
    created_at: datetime
    active_at: datetime
    expires_at: datetime
    deleted_at: datetime | None

    @property
    def complete(self) -> bool:
        """Whether all bytes are there."""
        return self.received_bytes == self.size_bytes

    @property
    def expired(self) -> bool:
        """Whether it was removed because its time was up."""
        return self.deleted_at is not None and self.deleted_at >= self.expires_at

    @classmethod
    def from_row(cls, row: RowMapping) -> Upload:
        """An upload from a row of its table."""
        return cls(**row)
