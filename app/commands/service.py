"""Commands that run the service: ``up``, ``demo``, ``db upgrade``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.options import Data, Json
from app.console.output import emit_json, emit_line, note

database = typer.Typer(help="The service's database.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Make the commands known."""
    app.command()(up)
    app.command()(demo)
    app.add_typer(database, name="db")


def up(
    *,
    host: Annotated[
        str | None, typer.Option("--host", show_default="CNET_HOST, else 127.0.0.1", help="Address to listen on.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, show_default="CNET_PORT, else 8000", help="Port; 0: a free one."),
    ] = None,
    data: Data = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="How many jobs run at once.")] = 1,
    json: Json = False,
) -> None:
    """Run the whole service: queue, database, API, workers. Ctrl-C ends all of it.

    Prints one line, ``ready http://HOST:PORT``, once jobs can be taken. All state is in the data folder; started on the
    same folder again, it goes on where it was.
    """
    from app.up.command import UpOptions
    from app.up.command import up as run

    def announce(url: str) -> None:
        if json:
            emit_line(f'{{"ready": "{url}"}}')
        else:
            emit_line(f"ready {url}")
            note(f"API: {url}/docs")

    run(UpOptions(host, port, data, workers), announce)


def demo(
    *,
    data: Annotated[Path, typer.Option("--data", help="Folder for the service's state and the results.")] = Path(
        "demo"
    ),
    json: Json = False,
) -> None:
    """The whole way on real data: train a net, compress it through the service, prove what came out."""
    from app.demo.command import demo as run

    document = run(data, quiet=json)
    if json:
        emit_json(document)


@database.command()
def upgrade(*, data: Data = None, json: Json = False) -> None:
    """Bring the database's tables to this release's."""
    from app.core.db import migrate
    from app.core.db.engine import Database
    from app.up.command import UpOptions, settings_for

    settings = settings_for(UpOptions(data=data))
    if not settings.database_url:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = Database(settings.database)
    try:
        migrate.upgrade(connection)
    finally:
        connection.close()
    if json:
        emit_json({"upgraded": True})
    else:
        emit_line("the database is up to date")
