"""Upload of the files that a job names, before the job is submitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.commands.remote.local_fit import check_fit
from app.console.output import note
from app.console.transfer import transfer_bar

if TYPE_CHECKING:
    from cnet.client import Client

_NOT_FOUND = 404


@dataclass(frozen=True)
class _Field:
    """A field of a specification that names a file.

    Attributes:
        path: keys from the root of the specification to it.
        placeholder: an id that stands for the file while the specification is checked.
    """

    path: tuple[str, ...]
    placeholder: str

    def get(self, document: dict[str, Any]) -> str | None:
        """What the field names; None where it names nothing."""
        value: Any = document
        for key in self.path:
            value = value.get(key) if isinstance(value, dict) else None
        return str(value) if value else None

    def put(self, document: dict[str, Any], name: str) -> dict[str, Any]:
        """The specification with another name in the field, whose parents are objects or missing."""
        key, *inner = self.path
        if not inner:
            return {**document, key: name}
        return {**document, key: _Field(tuple(inner), self.placeholder).put(document.get(key) or {}, name)}


_FIELDS = {
    "dataset": _Field(("dataset",), "ds_to_be_uploaded"),
    "calibration inputs": _Field(("calibrate", "inputs"), "ds_inputs_to_be_uploaded"),
    "checkpoint": _Field(("checkpoint",), "ckpt_to_be_uploaded"),
    "program": _Field(("architecture", "program"), "prog_to_be_uploaded"),
}
"""The fields that name files, in the order in which the server looks for them."""

_SHOWN = 40  # number of characters of an id that a message of the server shows at least


def with_uploads(
    client: Client,
    document: dict[str, Any],
    checkpoint: str | None,
    weights_key: str | None = None,
    *,
    quiet: bool = False,
) -> dict[str, Any]:
    """The specification with the ids of uploads in place of files.

    The files are uploaded after the server has accepted the rest of the specification. The server checks it, not the
    library of this installation: the server may be of another release, with other parts and limits.

    Args:
        client: the client of the server.
        document: the specification; its ``dataset``, its ``calibrate.inputs`` and the program of its ``architecture``
            may be paths of files.
        checkpoint: the path of a file, or the id of an upload. None: the one in the specification.
        weights_key: the entry of the file that holds the weights. None: the server finds it.
        quiet: show nothing of the uploads.

    Raises:
        CnetError: as ``check_fit``: the files do not fit each other; nothing is uploaded.
        typer.BadParameter: ``checkpoint`` is neither a file nor an id, or there is no file for ``weights_key``.
        ApiError: the server refuses the specification, before anything is uploaded, or refuses an upload.
        UnreachableError: the server does not answer.
        OSError: a file cannot be read.
    """
    if checkpoint is not None and not Path(checkpoint).is_file() and not checkpoint.startswith("ckpt_"):
        raise typer.BadParameter(f"{checkpoint} is neither a file nor the id of an upload (ckpt_...). Check the path.")
    named = document if checkpoint is None else {**document, "checkpoint": checkpoint}
    ways: dict[str, Callable[..., dict[str, Any]]] = {
        "checkpoint": partial(client.upload_checkpoint, weights_key=weights_key),
        "program": client.upload_program,
        "dataset": client.upload_dataset,
        "calibration inputs": client.upload_dataset,
    }
    files = {name: _FIELDS[name].get(named) for name in ways if name != "checkpoint" or checkpoint is not None}
    uploads = {name: Path(file) for name, file in files.items() if file and Path(file).is_file()}
    if weights_key is not None and "checkpoint" not in uploads:
        raise typer.BadParameter(
            "the entry of the weights is chosen when a file is uploaded. Name the checkpoint's file, or leave it out.",
            param_hint="--weights-key",
        )
    if uploads:
        _check(client, named, frozenset(uploads))
        check_fit(client, named, uploads, weights_key)
    for name, path in uploads.items():
        named = _FIELDS[name].put(named, upload_with_bar(ways[name], path, quiet=quiet)["id"])
    return named


def _check(client: Client, document: dict[str, Any], pending: frozenset[str]) -> None:
    """Have the server check a specification whose files in the fields ``pending`` are not uploaded yet.

    Raises:
        ApiError: the server refuses it for another reason than those missing uploads.

    """
    given = {name: each for name, field in _FIELDS.items() if name not in pending and (each := field.get(document))}
    draft = document
    for name in pending:
        draft = _FIELDS[name].put(draft, _FIELDS[name].placeholder)
    _validate(client, draft, list(given.values()), [_FIELDS[name].placeholder for name in pending])
    order = list(_FIELDS)
    first = min(order.index(name) for name in pending)
    for name, each in given.items():  # of several ids that do not exist the server names the first
        if order.index(name) > first:
            _validate(client, _FIELDS[name].put({}, each), [each], [])


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


def upload_with_bar(upload: Callable[..., dict[str, Any]], path: Path, *, quiet: bool) -> dict[str, Any]:
    """The object that an upload of a file makes; its progress and warnings are shown on standard error.

    Args:
        upload: a method of the client that takes the path and ``on_progress``.
        path: the file.
        quiet: show nothing.
    """
    if not quiet:
        note(f"uploading {path} ({path.stat().st_size:,} bytes)")
    with transfer_bar(path.name, quiet=quiet) as bar:
        uploaded = upload(path, on_progress=bar)
    notes = []
    if uploaded.get("weights_key"):
        notes.append(f"{path}: the weights are those of the entry {uploaded['weights_key']!r}")
    for warning in uploaded.get("warnings", []):
        about = f"tensor {warning['tensor']!r}: " if warning.get("tensor") else ""
        notes.append(f"warning: {about}{warning['detail']}")
    for text in () if quiet else notes:
        note(text)
    return uploaded
