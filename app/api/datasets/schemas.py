"""The JSON of data sets."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from app.api.checkpoints.schemas import Warning  # noqa: A004 - the name in the HTTP contract
from app.core.clock import rfc3339
from app.core.uploaded_files import UploadedFile


class InputArray(BaseModel):
    """One input of a data set."""

    name: str = Field(description="Name of the input; `x` where there is only one.")
    shape: tuple[int, ...] = Field(description="Shape of one sample.")
    dtype: str = Field(description="Element type.")


class TargetArray(BaseModel):
    """The targets of a data set."""

    shape: tuple[int, ...] = Field(description="Shape of one sample's target; empty for a single number.")
    dtype: str = Field(description="Element type: `int64` for labels, `float32` for a regression.")


class Dataset(BaseModel):
    """Samples to train and evaluate with."""

    id: str = Field(description="Id of the data set, `ds_...`.")
    owner: str = Field(description="Owner of the data set.")
    filename: str | None = Field(description="Name of the uploaded file; null where the client sent none.")
    format: str = Field(description="Name of the file format, one of `dataset_formats` in the catalogue.")
    splits: dict[str, int] = Field(
        description="Number of samples in `train`, `test` and, if the file has it, `validation`."
    )
    input_shape: tuple[int, ...] = Field(
        description="Shape of one sample of the first input; of an image, channels, height and width."
    )
    classes: int | None = Field(description="Number of classes; null where the targets are no labels.")
    dtype: str = Field(description="Element type of the first input, such as `uint8`.")
    inputs: list[InputArray] = Field(description="The inputs, in their order.")
    targets: TargetArray | None = Field(description="The targets; null where the samples have none.")
    layout: Literal["channels_first", "channels_last"] | None = Field(
        description="Where the file had the channels of its images, which are stored with the channels first; null "
        "where it has no images, or grey ones without an axis of channels."
    )
    class_names: list[str] | None = Field(
        description="Names of the classes by label, where the file has them, such as the folders of images."
    )
    sha256: str = Field(description="SHA-256 of the uploaded file, 64 hex digits.")
    size_bytes: int = Field(description="Size of the uploaded file in bytes.")
    warnings: list[Warning] = Field(description="What to know about the file.")
    created_at: str | None = Field(description="Time of the upload.")
    expires_at: str | None = Field(description="Time after which the server deletes the data set; null: never.")

    @classmethod
    def of(cls, stored: UploadedFile) -> Self:
        """The JSON of a stored data set."""
        shown = ("format", "splits", "input_shape", "classes", "dtype", "inputs", "targets", "warnings")
        later = ("layout", "class_names")  # not in the manifests of the first release
        return cls(
            id=stored.id,
            owner=stored.owner,
            filename=stored.filename,
            sha256=stored.sha256,
            size_bytes=stored.size_bytes,
            created_at=rfc3339(stored.created_at),
            expires_at=rfc3339(stored.expires_at),
            **{name: stored.manifest[name] for name in shown},
            **{name: stored.manifest.get(name) for name in later},
        )


class DatasetList(BaseModel):
    """A page of data sets, newest first."""

    data: list[Dataset] = Field(description="The data sets of this page.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")
