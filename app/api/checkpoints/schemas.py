"""Checkpoints as JSON."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from app.api.uploaded_files import UploadQuery
from app.core.clock import rfc3339
from app.core.uploaded_files import UploadedFile


class CheckpointQuery(UploadQuery):
    """Query parameters of an upload of weights."""

    weights_key: str | None = Field(
        default=None, min_length=1, max_length=500, description="Entry of the file that holds the weights."
    )
    strip_prefix: bool = Field(default=True, description="Cut off a prefix that all names share, such as `module.`.")


class Warning(BaseModel):  # noqa: A001 - the contract's word; this module warns nobody
    """Something that the user should know; `tensor` where it is about one."""

    code: str
    detail: str
    tensor: str | None


class Checkpoint(BaseModel):
    """A trained model's weights. `sha256` and `size_bytes` are those of the uploaded file."""

    id: str
    filename: str | None
    format: str = Field(description="Name of the file format, one of `formats` in the catalogue.")
    sha256: str
    size_bytes: int
    tensors: int
    parameters: int
    compressible_parameters: int
    dtypes: dict[str, int] = Field(description="Parameters by element type.")
    weights_key: str | None
    stripped_prefix: str | None
    tied: list[list[str]]
    warnings: list[Warning]
    created_at: str | None
    expires_at: str | None

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """From its row."""
        manifest = stored.manifest
        shown = ("format", "parameters", "compressible_parameters", "dtypes", "weights_key", "stripped_prefix")
        return cls(
            id=stored.id,
            filename=stored.filename,
            sha256=stored.sha256,
            size_bytes=stored.size_bytes,
            tensors=len(manifest["tensors"]),
            tied=manifest["tied"],
            warnings=manifest["warnings"],
            created_at=rfc3339(stored.created_at),
            expires_at=rfc3339(stored.expires_at),
            **{name: manifest[name] for name in shown},
        )


class CheckpointList(BaseModel):
    """A page of checkpoints, newest first."""

    data: list[Checkpoint]
    has_more: bool
    next: str | None


class Tensor(BaseModel):
    """One tensor, and the numbers that describe its values (null where there are none)."""

    name: str
    shape: list[int]
    dtype: str
    parameters: int
    bytes: int
    compressible: bool
    min: float | int | None
    max: float | int | None
    mean: float | None
    std: float | None
    zeros: int
    tied_to: str | None


class TensorList(BaseModel):
    """All tensors of a checkpoint, in its own order."""

    data: list[Tensor]
