"""The options of all commands that talk to a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.profiles import Profile, Profiles

if TYPE_CHECKING:
    from cnet.client import Client

DEFAULT_SERVER = "http://127.0.0.1:8000"
_PANEL = "Server"
_FEW_RETRIES = 2  # so that a wrong address is reported soon


@dataclass(frozen=True)
class ServerOptions:
    """Which server a command talks to, and as whom.

    What is given comes first, by an option or by its environment variable; then the profile; then a server on this
    machine. The key of a profile is sent to no server but its own.
    """

    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            envvar="CNET_SERVER",
            metavar="URL",
            help="URL of the server.",
            show_default=f"that of the profile, else {DEFAULT_SERVER}",
            rich_help_panel=_PANEL,
        ),
    ] = None
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            envvar="CNET_API_KEY",
            metavar="KEY",
            help="API key for the server.",
            show_default="that of the profile",
            rich_help_panel=_PANEL,
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            envvar="CNET_PROFILE",
            metavar="NAME",
            help="Profile that `cnet login` has stored.",
            show_default="default",
            rich_help_panel=_PANEL,
        ),
    ] = None

    def chosen(self) -> Profile:
        """The server and the key. Raises typer.BadParameter where there is no such profile."""
        stored = Profiles.read().get(self.profile)
        if stored is None or (self.server is not None and self.server.rstrip("/") != stored.server.rstrip("/")):
            return Profile(self.server or DEFAULT_SERVER, self.api_key)
        return Profile(stored.server, self.api_key or stored.api_key)

    @property
    def is_given(self) -> bool:
        """Whether a server is named, by an option, an environment variable or a profile."""
        return self.server is not None or Profiles.read().get(self.profile) is not None

    def client(self, retries: int = _FEW_RETRIES) -> Client:
        """A client of the server."""
        from cnet.client import Client

        chosen = self.chosen()
        return Client(chosen.server, chosen.api_key, retries=retries)
