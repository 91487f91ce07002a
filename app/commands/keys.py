"""``cnet keys``: the API keys of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import SERVICE, Data, Json
from app.console.exit_codes import FAILED
from app.console.output import columns, emit_json, emit_line, note

if TYPE_CHECKING:
    from app.core.db.engine import Database
    from app.core.keys import ApiKey


class ScopeName(StrEnum):
    """What a key allows; each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


commands = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(commands, name="keys", rich_help_panel=SERVICE)


@commands.command()
def create(
    *,
    owner: Annotated[
        str,
        typer.Option("--owner", help="Owner of the key, who sees only their own objects unless the scope is admin."),
    ],
    scope: Annotated[ScopeName, typer.Option("--scope", help="What the key allows.")] = ScopeName.WRITE,
    data: Data = None,
    json: Json = False,
) -> None:
    """Create an API key. It is shown only once: the server keeps a digest of it."""
    if not owner.strip() or len(owner) > 200:
        raise typer.BadParameter(
            "an owner is a name of 1 to 200 characters. Give another --owner.", param_hint="--owner"
        )
    from app.core.keys import ApiKeys
    from app.core.ownership import count_local

    with _database(data, make=True) as database:
        key, secret = ApiKeys(database).create(owner, scope.value)
        local = count_local(database)
    if json:
        emit_json({"id": key.id, "key": secret, **_document(key)})
    else:
        emit_line(secret)
        note(f"This is key {key.id} of {owner} ({scope.value}). It is not shown again. Set CNET_API_KEY to it.")
    if local:
        note(
            f"{local} objects were stored without a key and belong to nobody who has one. "
            f"Run `cnet keys adopt --owner {owner}` to give them to {owner}."
        )


@commands.command()
def adopt(
    *,
    owner: Annotated[str, typer.Option("--owner", help="Who gets what was stored without a key.")],
    data: Data = None,
    json: Json = False,
) -> None:
    """Give an owner all files, jobs and studies that were stored before the first key existed."""
    from app.core.keys import ApiKeys
    from app.core.ownership import adopt_local

    with _database(data, make=False) as database:
        if owner not in {key.owner for key in ApiKeys(database).find()}:
            raise typer.BadParameter(f"{owner} has no key. Create one first.", param_hint="--owner")
        count = adopt_local(database, owner)
    if json:
        emit_json({"owner": owner, "objects": count})
    else:
        emit_line(f"{count} objects belong to {owner} now")


@commands.command("list")
def list_(*, data: Data = None, json: Json = False) -> None:
    """List the API keys, without their secrets."""
    from app.core.keys import ApiKeys

    with _database(data, make=False) as database:
        found = ApiKeys(database).find()
    if json:
        emit_json(
            {"data": [{"id": key.id, **_document(key), "revoked_at": _timestamp(key.revoked_at)} for key in found]}
        )
        return
    rows = [(key.id, key.owner, " ".join(key.scopes), _timestamp(key.created_at), _state(key)) for key in found]
    emit_line(columns(("ID", "OWNER", "SCOPES", "CREATED", "STATE"), [[cell or "" for cell in row] for row in rows]))


@commands.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `cnet keys list` shows it.")],
    *,
    data: Data = None,
    json: Json = False,
) -> None:
    """Revoke an API key. After the last one is revoked the server still needs a key."""
    from app.core.keys import ApiKeys

    with _database(data, make=False) as database:
        if not ApiKeys(database).revoke(key_id):
            detail = f"there is no valid key {key_id}. Run `cnet keys list` to see all keys."
            note(f"cnet: {detail}")
            if json:
                emit_json({"type": "about:blank", "title": "Failed", "code": "not_found", "detail": detail})
            raise typer.Exit(FAILED)
    if json:
        emit_json({"id": key_id, "revoked": True})
    else:
        emit_line(f"revoked {key_id}")


@contextmanager
def _database(data: Path | None, *, make: bool) -> Iterator[Database]:
    """The database of a server, with the tables of this release.

    Args:
        data: the data folder; None: as the settings say.
        make: create a folder that was named and does not exist, since the first key is created before the first start.

    Raises:
        NotFoundError: there is no such folder; or none was named, and the one by default has no database.

    """
    from app.core.db import migrate
    from app.core.db.engine import Database
    from app.core.errors import NotFoundError
    from app.core.settings import Settings

    settings = Settings()
    named = data is not None or "data_dir" in settings.model_fields_set
    if data is not None:
        settings = settings.model_copy(update={"data_dir": data})
    folder = settings.data_dir
    if not settings.database_url:
        if not named and not settings.database_file.exists():
            raise NotFoundError(
                f"there is no data of a server in the folder {folder}. Name the folder of the service with --data; "
                "a new one is made there."
            )
        if not make and not folder.is_dir():
            raise NotFoundError(f"there is no data folder {folder}. Name the folder of the service with --data.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(settings.database)
    try:
        migrate.upgrade(database)
        yield database
    finally:
        database.close()


def _document(key: ApiKey) -> dict[str, Any]:
    return {"owner": key.owner, "scopes": list(key.scopes), "created_at": _timestamp(key.created_at)}


def _state(key: ApiKey) -> str:
    return "valid" if key.revoked_at is None else f"revoked {_timestamp(key.revoked_at)}"


def _timestamp(time: Any) -> str | None:
    from app.core.clock import rfc3339

    return rfc3339(time)
