"""Commands that run the service: ``up``, ``demo``, ``db upgrade``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.options import SERVICE, Data, Json
from app.console.output import emit_json, emit_line, note

database = typer.Typer(help="The database of the service.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(rich_help_panel=SERVICE)(up)
    app.command(rich_help_panel=SERVICE)(demo)
    app.add_typer(database, name="db", rich_help_panel=SERVICE)


def up(
    *,
    host: Annotated[
        str | None, typer.Option("--host", show_default="CNET_HOST, else 127.0.0.1", help="Address to listen on.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            show_default="CNET_PORT, else 8000",
            help="Port to listen on; 0 takes a free one.",
        ),
    ] = None,
    data: Data = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Number of workers, each of which runs one job at a time.")
    ] = 1,
    json: Json = False,
) -> None:
    """Run the whole service: queue, database, API and workers. Ctrl-C ends it.

    It prints one line, ``ready http://HOST:PORT``, when it accepts jobs. All state is in the data folder: started on
    the same folder again, the service continues its jobs.
    """
    from app.core.launch import uncollected

    with uncollected():
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
    data: Annotated[
        Path, typer.Option("--data", help="Folder for the state of the service and for the results.")
    ] = Path("demo"),
    json: Json = False,
) -> None:
    """Train a network on real data, compress it through the service, and verify the result."""
    from app.demo.command import demo as run

    document = run(data, quiet=json)
    if json:
        emit_json(document)


@database.command()
def upgrade(*, data: Data = None, json: Json = False) -> None:
    """Upgrade the tables of the database to this release."""
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
