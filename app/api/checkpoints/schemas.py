"""The JSON of checkpoints."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from app.api.upload_query import UploadQuery
from app.core.clock import rfc3339
from app.core.uploaded_files import UploadedFile


class CheckpointQuery(UploadQuery):
    """Query parameters of the upload of a checkpoint."""

    weights_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="Name of the entry that holds the weights, such as `state_dict`. By default the server finds it.",
    )
    strip_prefix: bool = Field(
        default=True, description="Whether to remove a prefix that the names of all tensors share, such as `module.`."
    )


class Warning(BaseModel):  # noqa: A001 - the name in the HTTP contract; this module issues no Python warnings
    """A remark on an uploaded file that was accepted."""

    code: str = Field(description="What it is about, for programs. The codes do not change.")
    detail: str = Field(description="What it is about, for people.")
    tensor: str | None = Field(description="Name of the tensor (or array) that it is about; null: the whole file.")


class Checkpoint(BaseModel):
    """The weights of a trained model."""

    id: str = Field(description="Id of the checkpoint, `ckpt_...`.")
    owner: str = Field(description="Owner of the checkpoint.")
    filename: str | None = Field(description="Name of the uploaded file; null where the client sent none.")
    format: str = Field(description="Name of the file format, one of `formats` in the catalogue.")
    sha256: str = Field(description="SHA-256 of the uploaded file, 64 hex digits.")
    size_bytes: int = Field(description="Size of the uploaded file in bytes.")
    tensors: int = Field(description="Number of tensors.")
    parameters: int = Field(description="Number of elements of all tensors, buffers included.")
    compressible_parameters: int = Field(
        description="Number of elements of the compressible tensors: floating point, two dimensions or more."
    )
    dtypes: dict[str, int] = Field(description="Number of elements by element type.")
    weights_key: str | None = Field(description="Entry of the file from which the weights were read; null: the whole.")
    stripped_prefix: str | None = Field(description="Prefix that was removed from all names of tensors; null: none.")
    tied: list[list[str]] = Field(description="Groups of names that share one tensor.")
    warnings: list[Warning] = Field(description="What to know about the file.")
    created_at: str | None = Field(description="Time of the upload.")
    expires_at: str | None = Field(description="Time after which the server deletes the checkpoint; null: never.")

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """The JSON of a stored checkpoint."""
        manifest = stored.manifest
        shown = ("format", "parameters", "compressible_parameters", "dtypes", "weights_key", "stripped_prefix")
        return cls(
            id=stored.id,
            owner=stored.owner,
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

    data: list[Checkpoint] = Field(description="The checkpoints of this page.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")


class Tensor(BaseModel):
    """One tensor and statistics of its values, which are null where the tensor is empty or has no numbers."""

    name: str = Field(description="Name of the tensor, without the removed prefix.")
    shape: list[int] = Field(description="Number of elements along each dimension.")
    dtype: str = Field(description="Element type, such as `float32`.")
    parameters: int = Field(description="Number of elements.")
    bytes: int = Field(description="Size of the elements in bytes.")
    compressible: bool = Field(description="Whether a job compresses it unless its spec says otherwise.")
    min: float | int | None = Field(description="Smallest value.")
    max: float | int | None = Field(description="Largest value.")
    mean: float | None = Field(description="Mean of the values.")
    std: float | None = Field(description="Standard deviation of the values.")
    zeros: int = Field(description="Number of elements that are zero.")
    tied_to: str | None = Field(description="Name of the tensor that it shares its values with; null: none.")


class TensorList(BaseModel):
    """All tensors of a checkpoint."""

    data: list[Tensor] = Field(description="The tensors in the order of the file.")
