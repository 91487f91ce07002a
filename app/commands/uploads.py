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
_IDS = {
    "dataset": "ds_to_be_uploaded",
    "checkpoint": "ckpt_to_be_uploaded",
    "program": "prog_to_be_uploaded",
}  # in the order in which the server looks for them
_SHOWN = 40  # number of characters of an id that a message of the server shows at least


def with_uploads(
    client: Client, document: dict[str, Any], checkpoint: str | None, weights_key: str | None = None
) -> dict[str, Any]:
    """The specification with the ids of uploads in place of files.

    The files are uploaded after the server has accepted the rest of the specification. The server checks it, not the
    library of this installation: the server may be of another release, with other parts and limits.

    Args:
        client: the client of the server.
        document: the specification; its ``dataset`` and the program of its ``architecture`` may be paths of files.
        checkpoint: the path of a file, or the id of an upload. None: the one in the specification.
        weights_key: the entry of the file that holds the weights. None: the server finds it.

    Raises:
        typer.BadParameter: ``checkpoint`` is neither a file nor an id, or there is no file for ``weights_key``.
        ApiError: the server refuses the specification, before anything is uploaded, or refuses an upload.
        UnreachableError: the server does not answer.
        OSError: a file cannot be read.
    """
    if checkpoint is not None and not Path(checkpoint).is_file() and not checkpoint.startswith("ckpt_"):
        raise typer.BadParameter(f"{checkpoint} is neither a file nor the id of an upload (ckpt_...). Check the path.")
    named = document if checkpoint is None else {**document, "checkpoint": checkpoint}
    ways: dict[str, Callable[[Path], dict[str, Any]]] = {
        "checkpoint": partial(client.upload_checkpoint, weights_key=weights_key),
        "program": client.upload_program,
        "dataset": client.upload_dataset,
    }
    files = {field: _named(named, field) for field in ways if field != "checkpoint" or checkpoint is not None}
    uploads = {field: Path(name) for field, name in files.items() if name and Path(name).is_file()}
    if weights_key is not None and "checkpoint" not in uploads:
        raise typer.BadParameter(
            "the entry of the weights is chosen when a file is uploaded. Name the checkpoint's file, or leave it out.",
            param_hint="--weights-key",
        )
    if uploads:
        _check(client, named, frozenset(uploads))
    for field, path in uploads.items():
        named = _renamed(named, field, _uploaded(ways[field], path))
    return named


def _named(document: dict[str, Any], field: str) -> str | None:
    """The checkpoint, data set or program that a specification names; None where it names none."""
    holder = document.get("architecture") if field == "program" else document
    value = holder.get(field) if isinstance(holder, dict) else None
    return str(value) if value else None


def _renamed(document: dict[str, Any], field: str, name: str) -> dict[str, Any]:
    """The specification with another checkpoint, data set or program."""
    if field == "program":
        return {**document, "architecture": {**document["architecture"], "program": name}}
    return {**document, field: name}


def _check(client: Client, document: dict[str, Any], pending: frozenset[str]) -> None:
    """Have the server check a specification whose files in the fields ``pending`` are not uploaded yet.

    Raises:
        ApiError: the server refuses it for another reason than those missing uploads.

    """
    given = {field: name for field in _IDS if field not in pending and (name := _named(document, field))}
    draft = document
    for field in pending:
        draft = _renamed(draft, field, _IDS[field])
    _validate(client, draft, list(given.values()), [_IDS[field] for field in pending])
    order = list(_IDS)
    first = min(order.index(field) for field in pending)
    for field, name in given.items():  # of several ids that do not exist the server names the first
        if order.index(field) > first:
            _validate(client, _renamed({"architecture": {}} if field == "program" else {}, field, name), [name], [])


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
