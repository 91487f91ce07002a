"""The JSON of resumable uploads."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from app.core.clock import rfc3339
from app.core.uploads import Upload


class UploadView(BaseModel):
    """A file that a client sends in one or more requests."""

    id: str = Field(description="Id of the upload, `up_...`.")
    owner: str = Field(description="Owner of the upload.")
    filename: str | None = Field(description="Name of the file, from `Upload-Metadata`; null where it has none.")
    purpose: str | None = Field(description="What the file is for, from `Upload-Metadata`; null where it says nothing.")
    size_bytes: int = Field(description="Size of the file in bytes.")
    received_bytes: int = Field(description="Number of bytes that the server has for certain.")
    complete: bool = Field(description="Whether all bytes are there.")
    sha256: str | None = Field(description="SHA-256 of the file, 64 hex digits; null before it is known.")
    created_at: str | None = Field(description="Time at which the upload began.")
    expires_at: str | None = Field(description="Time after which the server removes it, unless more bytes arrive.")

    @classmethod
    def of(cls, upload: Upload) -> Self:
        """The JSON of an upload."""
        return cls(
            id=upload.id,
            owner=upload.owner,
            filename=upload.filename,
            purpose=upload.purpose,
            size_bytes=upload.size_bytes,
            received_bytes=upload.received_bytes,
            complete=upload.complete,
            sha256=upload.sha256,
            created_at=rfc3339(upload.created_at),
            expires_at=rfc3339(upload.expires_at),
        )


class UploadList(BaseModel):
    """A page of uploads, newest first."""

    data: list[UploadView] = Field(description="The uploads of this page.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")
