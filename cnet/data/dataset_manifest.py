"""The manifest of an uploaded data set: JSON beside its canonical file."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cnet.data.dataset_format import Layout
from cnet.data.dataset_reader import UploadedDataset
from cnet.documents import StrictDocument
from cnet.errors import CnetError, DatasetError
from cnet.formats.upload_manifest import UploadManifest, WarningRow


class InputRow(StrictDocument):
    """One input of a data set: ``shape`` is that of one sample, ``range`` the smallest and largest of its integers."""

    name: str
    shape: tuple[int, ...] = Field(strict=False)
    dtype: str
    range: tuple[int, int] | None = Field(default=None, strict=False)  # not in the manifests of earlier releases


class TargetRow(StrictDocument):
    """The targets of a data set.

    Attributes:
        shape: of one sample's.
        dtype: ``int64`` or ``float32``.
        different: how many labels each split has; empty where they are no labels.
        range: the smallest and the largest value; None for labels.
    """

    shape: tuple[int, ...] = Field(strict=False)
    dtype: str
    different: dict[str, int] = Field(default_factory=dict)  # not in the manifests of earlier releases
    range: tuple[float, float] | None = Field(default=None, strict=False)  # likewise


class DatasetManifest(UploadManifest):
    """The description of a data set that the API shows, without id, file name, size, digest and times of the upload.

    ``input_shape`` and ``dtype`` are those of the first input, ``classes`` is None where the targets are no labels, and
    ``targets`` is None where there are none. ``layout`` is where the file had the channels of its images; they
    are stored with the channels first.
    """

    kind: ClassVar[str] = "data set"
    error: ClassVar[type[CnetError]] = DatasetError

    format: str
    splits: dict[str, int]
    input_shape: tuple[int, ...] = Field(strict=False)
    classes: int | None
    dtype: str
    inputs: tuple[InputRow, ...] = Field(strict=False)
    targets: TargetRow | None
    layout: Layout | None = None
    class_names: tuple[str, ...] | None = Field(default=None, strict=False)

    @classmethod
    def of(cls, uploaded: UploadedDataset) -> DatasetManifest:
        """The manifest of a data set."""
        dataset = uploaded.dataset
        train, targets = dataset.train, dataset.train.targets
        ranges = dataset.integer_ranges
        inputs = [
            InputRow(name=name, shape=tuple(values.shape[1:]), dtype=values.dtype.name, range=ranges.get(name))
            for name, values in train.inputs.items()
        ]
        return cls(
            format=uploaded.format,
            splits={name: len(split) for name, split in dataset.splits.items()},
            input_shape=inputs[0].shape,
            classes=dataset.classes if dataset.has_labels else None,
            dtype=inputs[0].dtype,
            inputs=tuple(inputs),
            targets=None
            if targets is None
            else TargetRow(
                shape=tuple(targets.shape[1:]),
                dtype=targets.dtype.name,
                different=dataset.label_counts,
                range=dataset.value_limits,
            ),
            layout=uploaded.layout,
            class_names=uploaded.class_names,
            warnings=tuple(WarningRow.of(notice) for notice in uploaded.warnings),
        )
