"""Data sets as JSON."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from app.api.checkpoints.schemas import Warning  # noqa: A004 - the contract's word
from app.core.clock import rfc3339
from app.core.uploaded_files import UploadedFile


class Dataset(BaseModel):
    """Labelled images. `sha256` and `size_bytes` are those of the uploaded file."""

    id: str
    filename: str | None
    format: str = Field(description="Name of the file format, one of `dataset_formats` in the catalogue.")
    splits: dict[str, int] = Field(description="Images in `train` and in `test`.")
    input_shape: tuple[int, int, int] = Field(description="Channels, height, width.")
    classes: int
    dtype: str
    sha256: str
    size_bytes: int
    warnings: list[Warning]
    created_at: str | None
    expires_at: str | None

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """From its row."""
        shown = ("format", "splits", "input_shape", "classes", "dtype", "warnings")
        return cls(
            id=stored.id,
            filename=stored.filename,
            sha256=stored.sha256,
            size_bytes=stored.size_bytes,
            created_at=rfc3339(stored.created_at),
            expires_at=rfc3339(stored.expires_at),
            **{name: stored.manifest[name] for name in shown},
        )


class DatasetList(BaseModel):
    """A page of data sets, newest first."""

    data: list[Dataset]
    has_more: bool
    next: str | None
