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
    from cnet.client import ApiError

    ids = {"checkpoint": "ckpt_to_be_uploaded", "dataset": "ds_to_be_uploaded"}
    given = [str(document[field]) for field in ids if document.get(field) and field not in coming]
    try:
        client.validate({**document, **{field: ids[field] for field in coming}})
    except ApiError as error:
        if error.status != _NOT_FOUND or any(name in error.detail for name in given):
            raise


def _uploaded(upload: Callable[[Path], dict[str, Any]], path: Path) -> str:
    note(f"uploading {path} ({path.stat().st_size:,} bytes)")
    return str(upload(path)["id"])
