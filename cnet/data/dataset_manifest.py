"""The manifest of an uploaded data set: JSON beside its canonical file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationError

from cnet.data.dataset_reader import UploadedDataset
from cnet.documents import StrictDocument
from cnet.errors import DatasetError
from cnet.formats.checkpoint_manifest import WarningRow


class DatasetManifest(StrictDocument):
    """All that the API shows of a data set except what belongs to the upload (id, file name, size, digest, times)."""

    version: Literal[1] = 1
    format: str
    splits: dict[str, int]
    input_shape: tuple[int, int, int] = Field(strict=False)
    classes: int
    dtype: str
    warnings: tuple[WarningRow, ...] = Field(strict=False)

    @classmethod
    def of(cls, uploaded: UploadedDataset) -> DatasetManifest:
        """The manifest of a data set."""
        dataset = uploaded.dataset
        return cls(
            format=uploaded.format,
            splits={"train": len(dataset.x_train), "test": len(dataset.x_test)},
            input_shape=dataset.input_shape,
            classes=dataset.classes,
            dtype=dataset.x_train.dtype.name,
            warnings=tuple(WarningRow.of(notice) for notice in uploaded.warnings),
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> DatasetManifest:
        """Read what ``to_json`` wrote. Raises DatasetError (``corrupt``)."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise DatasetError(
                "the manifest of the data set is damaged. Upload the data set again.", code="corrupt"
            ) from error

    def to_json(self) -> str:
        """One line of JSON, the same for the same data set."""
        return self.model_dump_json()
