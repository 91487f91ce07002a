"""The group ``webhooks``: the secret that signs messages, and whether a job's message was delivered."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Json
from app.commands.server_options import ServerOptions
from app.console.output import columns, emit_json, emit_line, note


def add_to(app: typer.Typer) -> None:
    """Add the group to ``app``."""
    group = typer.Typer(no_args_is_help=True, help="Messages to an address of yours, once a job has ended.")
    for command in (secret, deliveries):
        group.command()(with_groups(command))
    app.add_typer(group, name="webhooks", rich_help_panel=ON_A_SERVER)


def secret(
    *,
    change: Annotated[
        bool, typer.Option("--change", help="Make a new secret; the old one signs too, for 24 hours.")
    ] = False,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Print the secret that signs the messages to your webhooks."""
    with server.client() as client:
        found = client.webhook_secret(change=change)
    if json:
        emit_json(found)
        return
    emit_line(found.secret)
    if found.previous_until is not None:
        note(f"Until {found.previous_until} messages are signed with the secret before it too.")


def deliveries(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.")],
    *,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """List the messages to a job's webhook, and why they were not delivered."""
    with server.client() as client:
        found = client.deliveries(job)
    if json:
        emit_json({"data": found})
        return
    rows = [(one.id, one.type, one.state, str(one.attempts), one.next_at or "", one.error or "") for one in found]
    emit_line(columns(("MESSAGE", "TYPE", "STATE", "ATTEMPTS", "NEXT", "ERROR"), rows))
