"""The options of every upload."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class UploadQuery(BaseModel):
    """Query parameters of every upload."""

    filename: str | None = Field(
        default=None, description="Name of the file. It is shown to you and used for nothing else."
    )
    sha256: str | None = Field(
        default=None,
        pattern=r"^[0-9A-Fa-f]{64}$",
        description="SHA-256 of the file, 64 hex digits. An upload with another digest is refused.",
    )

    def reading(self) -> dict[str, Any]:
        """The options that decide how the file is read: with the same ones, the same file gives the same object."""
        return self.model_dump(exclude={"filename", "sha256", "upload"})
