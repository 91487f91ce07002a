"""Upload of the files that a job names, before the job is submitted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.console.output import note

if TYPE_CHECKING:
    from cnet.client import Client

_NOT_FOUND = 404
_IDS = {"checkpoint": "ckpt_to_be_uploaded", "dataset": "ds_to_be_uploaded"}
_SHOWN = 40  # number of characters of an id that a message of the server shows at least


def with_uploads(
    client: Client, document: dict[str, Any], checkpoint: str | None, weights_key: str | None = None
) -> dict[str, Any]:
    """The specification with the ids of uploads in place of files.

    The files are uploaded after the server has accepted the rest of the specification. The server checks it, not the
    library of this installation: the server may be of another release, with other parts and limits.

    Args:
        client: the client of the server.
        document: the specification; its ``dataset`` may be the path of a file.
        checkpoint: the path of a file, or the id of an upload. None: the one in the specification.
        weights_key: the entry of the file that holds the weights. None: the server finds it.

    Raises:
        typer.BadParameter: ``checkpoint`` is neither a file nor an id, or there is no file for ``weights_key``.
        ApiError: the server refuses the specification, before anything is uploaded, or refuses an upload.
        UnreachableError: the server does not answer.
        OSError: a file cannot be read.
    """
    dataset = str(document["dataset"]) if document.get("dataset") else None
    if checkpoint is not None and not Path(checkpoint).is_file() and not checkpoint.startswith("ckpt_"):
        raise typer.BadParameter(f"{checkpoint} is neither a file nor the id of an upload (ckpt_...). Check the path.")
    named = document if checkpoint is None else {**document, "checkpoint": checkpoint}
    uploads: dict[str, Callable[[Path], dict[str, Any]]] = {}
    if checkpoint is not None and Path(checkpoint).is_file():
        uploads["checkpoint"] = partial(client.upload_checkpoint, weights_key=weights_key)
    elif weights_key is not None:
        raise typer.BadParameter(
            "the entry of the weights is chosen when a file is uploaded. Name the checkpoint's file, or leave it out.",
            param_hint="--weights-key",
        )
    if dataset is not None and Path(dataset).is_file():
        uploads["dataset"] = client.upload_dataset
    if uploads:
        _check(client, named, frozenset(uploads))
    return {**named, **{field: _uploaded(upload, Path(named[field])) for field, upload in uploads.items()}}


def _check(client: Client, document: dict[str, Any], pending: frozenset[str]) -> None:
    """Have the server check a specification whose files in the fields ``pending`` are not uploaded yet.

    Raises:
        ApiError: the server refuses it for another reason than those missing uploads.

    """
    given = [str(document[field]) for field in _IDS if document.get(field) and field not in pending]
    _validate(
        client, {**document, **{field: _IDS[field] for field in pending}}, given, [_IDS[field] for field in pending]
    )
    if "dataset" in pending and given:  # where two ids do not exist the server names the data set
        _validate(client, {"checkpoint": document["checkpoint"]}, given, [])


def _validate(client: Client, document: dict[str, Any], given: list[str], pending: list[str]) -> None:
    """Have the server check a specification in which the ids ``pending`` are placeholders.

    Raises:
        ApiError: the server refuses it for another reason than that the placeholders do not exist.

    """
    from cnet.client import ApiError

    try:
        client.validate(document)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        if not _names(error.detail, pending) and _names(error.detail, given):
            raise


def _names(detail: str, ids: list[str]) -> bool:
    """Whether a message names one of the ids, in Python's quotes; the server shortens long ids."""
    return any(repr(name[:_SHOWN])[1:-1] in detail for name in ids)


def _uploaded(upload: Callable[[Path], dict[str, Any]], path: Path) -> str:
    note(f"uploading {path} ({path.stat().st_size:,} bytes)")
    uploaded = upload(path)
    if uploaded.get("weights_key"):
        note(f"{path}: the weights are those of the entry {uploaded['weights_key']!r}")
    for warning in uploaded.get("warnings", []):
        about = f"tensor {warning['tensor']!r}: " if warning.get("tensor") else ""
        note(f"warning: {about}{warning['detail']}")
    return str(uploaded["id"])
