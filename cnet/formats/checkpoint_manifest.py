"""The manifest of a checkpoint: JSON beside the canonical file, so that its values need not be read again."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cnet.documents import StrictDocument
from cnet.errors import CheckpointError, CnetError
from cnet.formats.checkpoint_reader import Checkpoint
from cnet.formats.upload_manifest import UploadManifest, WarningRow
from cnet.weights import Tensor, Weights


class TensorRow(StrictDocument):
    """One tensor and the statistics of its values (computed in float64; null where there are none)."""

    name: str
    shape: tuple[int, ...] = Field(strict=False)
    dtype: str
    parameters: int
    bytes: int
    compressible: bool
    min: int | float | None
    max: int | float | None
    mean: float | None
    std: float | None
    zeros: int
    tied_to: str | None


class CheckpointManifest(UploadManifest):
    """The description of a checkpoint that the API shows, without id, file name, size, digest and times of the upload.

    ``tensors`` has one row for each name, tied copies too. ``parameters``, ``compressible_parameters`` and ``dtypes``
    (number of elements of each element type) count tied tensors once.
    """

    kind: ClassVar[str] = "checkpoint"
    error: ClassVar[type[CnetError]] = CheckpointError

    format: str
    tensors: tuple[TensorRow, ...] = Field(strict=False)
    parameters: int
    compressible_parameters: int
    dtypes: dict[str, int]
    weights_key: str | None
    stripped_prefix: str | None
    tied: tuple[tuple[str, ...], ...] = Field(strict=False)

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> CheckpointManifest:
        """The manifest of a checkpoint. Reads every value several times."""
        weights = checkpoint.weights
        return cls(
            format=checkpoint.format,
            tensors=tensor_rows(weights),
            parameters=weights.parameters,
            compressible_parameters=weights.compressible_parameters,
            dtypes=_elements_by_type(weights),
            weights_key=checkpoint.weights_key,
            stripped_prefix=checkpoint.stripped_prefix,
            tied=weights.tied,
            warnings=tuple(WarningRow.of(notice) for notice in checkpoint.warnings),
        )


def tensor_rows(weights: Weights) -> tuple[TensorRow, ...]:
    """A row for each tensor, tied copies too. Reads every value several times."""
    compressible = set(weights.compressible)
    return tuple(_row(tensor, weights, tensor.name in compressible) for tensor in weights)


def _row(tensor: Tensor, weights: Weights, compressible: bool) -> TensorRow:
    statistics = tensor.statistics
    return TensorRow(
        name=tensor.name,
        shape=tensor.shape,
        dtype=tensor.dtype,
        parameters=tensor.size,
        bytes=tensor.data.nbytes,
        compressible=compressible,
        min=statistics.min,
        max=statistics.max,
        mean=statistics.mean,
        std=statistics.std,
        zeros=statistics.zeros,
        tied_to=weights.copies.get(tensor.name),
    )


def _elements_by_type(weights: Weights) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tensor in weights:
        if tensor.name not in weights.copies:
            counts[tensor.dtype] = counts.get(tensor.dtype, 0) + tensor.size
    return dict(sorted(counts.items()))
