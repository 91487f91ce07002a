"""``cnet login`` and ``cnet logout``: the profile file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Json
from app.commands.profiles import DEFAULT_PROFILE, Profile, Profiles
from app.commands.server_options import DEFAULT_SERVER
from app.console.output import emit_json, emit_line

ProfileName = Annotated[
    str, typer.Option("--profile", envvar="CNET_PROFILE", metavar="NAME", help="Name of the profile.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    for command in (login, logout):
        app.command(rich_help_panel=ON_A_SERVER)(with_groups(command))


def login(
    server: Annotated[str, typer.Argument(metavar="[URL]", help="URL of the server.")] = DEFAULT_SERVER,
    *,
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            envvar="CNET_API_KEY",
            metavar="KEY",
            help="API key; by default it is asked for, or read from standard input.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileName = DEFAULT_PROFILE,
    json: Json = False,
) -> None:
    """Store a server and its API key, after the server has accepted them. Commands use them from then on.

    They are in a file that only you can read. `--profile` and `CNET_PROFILE` choose between several servers.
    """
    from cnet.client import Client

    key = _asked_key() if api_key is None else api_key.strip()
    with Client(server, key or None, retries=2) as client:
        client.jobs(limit=1)
    profiles = Profiles.read().with_profile(profile, Profile(server.rstrip("/"), key or None))
    profiles.write()
    if json:
        emit_json({"profile": profile, "server": server, "file": str(profiles.path)})
    else:
        emit_line(f"profile {profile}: {server}, stored in {profiles.path}")


def logout(*, profile: ProfileName = DEFAULT_PROFILE, json: Json = False) -> None:
    """Remove a profile with its API key from this machine."""
    profiles = Profiles.read()
    profiles.get(profile if profile != DEFAULT_PROFILE else None)
    profiles.without(profile).write()
    if json:
        emit_json({"profile": profile, "removed": True})
    else:
        emit_line(f"profile {profile}: removed from {profiles.path}")


def _asked_key() -> str:
    """The key that the user types, unseen, or the first line of standard input."""
    if sys.stdin.isatty():
        typed: str = typer.prompt(
            "API key (empty where the server asks for none)", hide_input=True, default="", show_default=False
        )
        return typed.strip()
    return sys.stdin.readline().strip()
