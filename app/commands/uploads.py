"""Files that a job names, which are uploaded before it is submitted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.console.output import note

if TYPE_CHECKING:
    from cnet.client import Client

_NOT_FOUND = 404
_IDS = {"checkpoint": "ckpt_to_be_uploaded", "dataset": "ds_to_be_uploaded"}
_SHOWN = 40  # characters of an id that messages show at least


def with_uploads(client: Client, document: dict[str, Any], checkpoint: str | None) -> dict[str, Any]:
    """The specification with ids in place of files, which are uploaded once the server finds no fault with the rest.

    The server is asked, not the library at hand: it may be of another release, and knows parts and limits of its own.

    Args:
        client: of the server.
        document: the specification; its ``dataset`` may be a file.
        checkpoint: a file, or the id of an upload; None: what the specification says.

    Raises:
        typer.BadParameter: the checkpoint is neither.
        ApiError: the server refuses the specification, and nothing was uploaded, or an upload.
        UnreachableError, OSError.
    """
    dataset = str(document["dataset"]) if document.get("dataset") else None
    if checkpoint is not None and not Path(checkpoint).is_file() and not checkpoint.startswith("ckpt_"):
        raise typer.BadParameter(f"there is no file {checkpoint}, and it is no id of an upload either (ckpt_...)")
    named = document if checkpoint is None else {**document, "checkpoint": checkpoint}
    uploads: dict[str, Callable[[Path], dict[str, Any]]] = {}
    if checkpoint is not None and Path(checkpoint).is_file():
        uploads["checkpoint"] = client.upload_checkpoint
    if dataset is not None and Path(dataset).is_file():
        uploads["dataset"] = client.upload_dataset
    if uploads:
        _check(client, named, frozenset(uploads))
    return {**named, **{field: _uploaded(upload, Path(named[field])) for field, upload in uploads.items()}}


def _check(client: Client, document: dict[str, Any], coming: frozenset[str]) -> None:
    """Raises ApiError where the server refuses more than that the files in the fields ``coming`` are not there yet."""
    given = [str(document[field]) for field in _IDS if document.get(field) and field not in coming]
    _ask(client, {**document, **{field: _IDS[field] for field in coming}}, given, [_IDS[field] for field in coming])
    if "dataset" in coming and given:  # of two that are not there the server names the data set
        _ask(client, {"checkpoint": document["checkpoint"]}, given, [])


def _ask(client: Client, document: dict[str, Any], given: list[str], coming: list[str]) -> None:
    """Raises ApiError for all but what of ``coming`` is not there yet, and a server that cannot be asked."""
    from cnet.client import ApiError

    try:
        client.validate(document)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        if not _names(error.detail, coming) and _names(error.detail, given):
            raise


def _names(detail: str, ids: list[str]) -> bool:
    """Whether a message has one of the ids, quoted as Python does; long ones are cut there."""
    return any(repr(name[:_SHOWN])[1:-1] in detail for name in ids)


def _uploaded(upload: Callable[[Path], dict[str, Any]], path: Path) -> str:
    note(f"uploading {path} ({path.stat().st_size:,} bytes)")
    return str(upload(path)["id"])
