"""What the manifests of all uploads have in common: JSON, and the warnings of a reader."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, ValidationError

from cnet.documents import StrictDocument
from cnet.errors import CnetError
from cnet.formats.parsing.contents import Notice


class WarningRow(StrictDocument):
    """A warning for the user; ``tensor`` names the tensor that it is about, null where it is about none."""

    code: str
    detail: str
    tensor: str | None = None

    @classmethod
    def of(cls, notice: Notice) -> WarningRow:
        """The JSON form of a notice, whose detail ends as a sentence does."""
        detail = notice.detail if notice.detail.endswith(".") else f"{notice.detail}."
        return cls(code=notice.code, detail=detail, tensor=notice.tensor)


class UploadManifest(StrictDocument):
    """The description of an uploaded file, stored beside its canonical form.

    Attributes:
        kind: what was uploaded, for messages, such as ``checkpoint``.
        error: the class of errors about it.
        version: of this JSON form.
        warnings: what the user should know.
    """

    kind: ClassVar[str]
    error: ClassVar[type[CnetError]]

    version: Literal[1] = 1
    warnings: tuple[WarningRow, ...] = Field(strict=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what ``to_json`` wrote. Raises ``error`` (``corrupt``)."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise cls.error(
                f"the manifest of the {cls.kind} is damaged. Upload the {cls.kind} again.", code="corrupt"
            ) from error

    def to_json(self) -> str:
        """One line of JSON, the same for the same file."""
        return self.model_dump_json()
