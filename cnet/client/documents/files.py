"""Uploaded files: checkpoints, data sets, programs."""

from __future__ import annotations

from cnet.client.documents.base import Document


class FileWarning(Document):
    """A remark on a file that was accepted."""

    code: str
    detail: str
    tensor: str | None


class Checkpoint(Document):
    """The weights of a trained model."""

    id: str
    owner: str
    filename: str | None
    format: str
    sha256: str
    size_bytes: int
    tensors: int
    parameters: int
    compressible_parameters: int
    dtypes: dict[str, int]
    weights_key: str | None
    stripped_prefix: str | None
    tied: list[list[str]]
    warnings: list[FileWarning]
    created_at: str | None
    expires_at: str | None


class Tensor(Document):
    """One tensor of a checkpoint, and statistics of its values."""

    name: str
    shape: list[int]
    dtype: str
    parameters: int
    bytes: int
    compressible: bool
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    zeros: int
    tied_to: str | None


class InputArray(Document):
    """One input of a data set."""

    name: str
    shape: list[int]
    dtype: str


class TargetArray(Document):
    """The targets of a data set."""

    shape: list[int]
    dtype: str


class Dataset(Document):
    """Samples for training and testing."""

    id: str
    owner: str
    filename: str | None
    format: str
    splits: dict[str, int]
    input_shape: list[int]
    classes: int | None
    dtype: str
    inputs: list[InputArray]
    targets: TargetArray | None
    layout: str | None
    class_names: list[str] | None
    sha256: str
    size_bytes: int
    warnings: list[FileWarning]
    created_at: str | None
    expires_at: str | None


class ProgramTensor(Document):
    """An input or an output of a program."""

    name: str
    shape: list[int | None]
    dtype: str


class Program(Document):
    """A network of a user, as a ``torch.export`` archive."""

    id: str
    owner: str
    filename: str | None
    inputs: list[ProgramTensor]
    outputs: list[ProgramTensor]
    parameters: int
    tensors: int
    trainable: bool
    train_graph: bool
    tied: list[list[str]]
    operators: list[str]
    torch_version: str
    sha256: str
    size_bytes: int
    warnings: list[FileWarning]
    created_at: str | None
    expires_at: str | None


class Upload(Document):
    """A file that is sent in one or more requests."""

    id: str
    owner: str
    filename: str | None
    purpose: str | None
    size_bytes: int
    received_bytes: int
    complete: bool
    sha256: str | None
    created_at: str | None
    expires_at: str | None
