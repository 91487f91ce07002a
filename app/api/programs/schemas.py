"""The JSON of programs."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from app.api.checkpoints.schemas import Warning  # noqa: A004 - the name in the HTTP contract
from app.core.clock import rfc3339
from app.core.uploaded_files import UploadedFile


class ProgramTensorSpec(BaseModel):
    """One input or output of a program."""

    name: str = Field(description="Its name, for people: that of the argument of `forward`.")
    shape: list[int | None] = Field(description="Number of elements along each dimension; null: any number.")
    dtype: str = Field(description="Element type, such as `float32`.")

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        """The JSON of an input or output in a manifest, whose sizes of any number are symbols there."""
        shape = [size if isinstance(size, int) else None for size in row["shape"]]
        return cls(name=row["name"], shape=shape, dtype=row["dtype"])


class ProgramView(BaseModel):
    """The architecture of a network, with its weights, as a `torch.export` archive."""

    id: str = Field(description="Id of the program, `prog_...`.")
    owner: str = Field(description="Owner of the program.")
    filename: str | None = Field(description="Name of the uploaded file; null where the client sent none.")
    inputs: list[ProgramTensorSpec] = Field(description="The inputs of the network, in their order.")
    outputs: list[ProgramTensorSpec] = Field(
        description="Its outputs, in their order; `output` in a job names one by its number, from 0."
    )
    parameters: int = Field(description="Number of elements of all tensors of the `state_dict`, buffers included.")
    tensors: int = Field(description="Number of tensors of the `state_dict`.")
    trainable: bool = Field(description="Whether it can be trained; a warning `not_trainable` says why it cannot.")
    train_graph: bool = Field(description="Whether the archive carries the graph of training mode beside the other.")
    tied: list[list[str]] = Field(description="Groups of names that share one tensor.")
    operators: list[str] = Field(description="The operators that the network calls.")
    torch_version: str = Field(description="Version of PyTorch that wrote the archive.")
    sha256: str = Field(description="SHA-256 of the uploaded file, 64 hex digits.")
    size_bytes: int = Field(description="Size of the uploaded file in bytes.")
    warnings: list[Warning] = Field(description="What to know about the file.")
    created_at: str | None = Field(description="Time of the upload.")
    expires_at: str | None = Field(description="Time after which the server deletes the program; null: never.")

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """The JSON of a stored program."""
        manifest = stored.manifest
        shown = ("parameters", "train_graph", "tied", "operators", "torch_version", "warnings")
        return cls(
            id=stored.id,
            owner=stored.owner,
            filename=stored.filename,
            inputs=[ProgramTensorSpec.of(row) for row in manifest["inputs"]],
            outputs=[ProgramTensorSpec.of(row) for row in manifest["outputs"]],
            tensors=len(manifest["tensors"]),
            trainable=manifest["untrainable"] is None,
            sha256=stored.sha256,
            size_bytes=stored.size_bytes,
            created_at=rfc3339(stored.created_at),
            expires_at=rfc3339(stored.expires_at),
            **{name: manifest[name] for name in shown},
        )


class ProgramList(BaseModel):
    """A page of programs, newest first."""

    data: list[ProgramView] = Field(description="The programs of this page.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")
