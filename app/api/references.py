"""JSON bodies that name a finished upload in place of sending a file: ``{"upload": "up_...", "filename": ...}``."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError, create_model

QueryT = TypeVar("QueryT", bound=BaseModel)


def reference_model(query: type[QueryT]) -> type[QueryT]:
    """The model of a JSON body: the fields of ``query``, and ``upload``."""
    upload = Field(description="Id of an upload, `up_...`, all of whose bytes have arrived.")
    name = f"{query.__name__.removesuffix('Query')}Reference"
    return create_model(
        name, __base__=query, __doc__="A finished upload, and options as in the query.", upload=(str, upload)
    )


def parse_reference(document: Any, query: QueryT) -> tuple[str, QueryT]:
    """The id of the upload that a JSON body names, and the options: those of the body before those of ``query``.

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
    return str(reference.upload), reference  # type: ignore[attr-defined] # create_model adds it


def _invalid(loc: list[str], message: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", *loc), "msg": message}])
