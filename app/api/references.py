"""JSON bodies in place of a file: ``{"upload": "up_..."}``, or ``{"sha256": ...}`` of a file that is stored already."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError, create_model

from app.api.upload_query import UploadQuery

QueryT = TypeVar("QueryT", bound=UploadQuery)


def reference_model(query: type[QueryT]) -> type[QueryT]:
    """The model of a JSON body: the fields of ``query``, and ``upload``."""
    about = (
        "Id of an upload, `up_...`, all of whose bytes have arrived. Without it, `sha256` names a file that you store."
    )
    return create_model(
        f"{query.__name__.removesuffix('Query')}Reference",
        __base__=query,
        __doc__="A file that was sent before, and options as in the query.",
        upload=(str | None, Field(default=None, description=about)),
    )


def parse_reference(document: Any, query: QueryT) -> tuple[str | None, QueryT]:
    """The id of the upload that a JSON body names, and the options: those of the body before those of ``query``.

    Where there is no id, the options have the ``sha256`` of a file that is stored.

    Raises:
        RequestValidationError: the body is not such a document.
    """
    model = reference_model(type(query))
    if not isinstance(document, dict):
        raise _invalid([], 'not an object. Send {"upload": "up_..."}, or the file itself with another Content-Type')
    for name in document:
        if name not in model.model_fields:
            raise _invalid([name], f"unknown field. The fields are {', '.join(model.model_fields)}")
    try:
        reference = model.model_validate({**query.model_dump(exclude_unset=True), **document}, strict=True)
    except ValidationError as error:
        rows = [{"loc": ("body", *row["loc"]), "msg": row["msg"]} for row in error.errors()]
        raise RequestValidationError(rows) from error
    upload: str | None = reference.upload  # type: ignore[attr-defined] # create_model adds it
    if upload is None and reference.sha256 is None:
        raise _invalid(["upload"], "missing, and so is sha256. Send one of them")
    return upload, reference


def _invalid(loc: list[str], message: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", *loc), "msg": message}])
