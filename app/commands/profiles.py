"""The profile file: addresses of servers and API keys, by name, readable for its owner alone."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import typer

DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class Profile:
    """A server, and the key for it.

    Attributes:
        server: its address.
        api_key: None for a server that asks for none.
    """

    server: str
    api_key: str | None = None


@dataclass(frozen=True)
class Profiles:
    """The profiles of a file.

    Attributes:
        path: the file.
        by_name: its profiles.
    """

    path: Path
    by_name: dict[str, Profile]

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """The profiles of a file, by default of the user's; none where it does not exist.

        Raises:
            typer.BadParameter: it is no file of profiles.
            OSError: it cannot be read.
        """
        path = path or default_path()
        if not path.exists():
            return cls(path, {})
        try:
            document: dict[str, Any] = json.loads(path.read_bytes())
            return cls(path, {name: Profile(each["server"], each.get("api_key")) for name, each in document.items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise typer.BadParameter(
                f"{path} is no file of profiles. Delete it, then run `cnet login` again.", param_hint="--profile"
            ) from error

    def get(self, name: str | None) -> Profile | None:
        """The profile with a name; for None the default one, or None where there is none.

        Raises:
            typer.BadParameter: there is none with this name.
        """
        if name is None or name in self.by_name:
            return self.by_name.get(name or DEFAULT_PROFILE)
        known = ", ".join(sorted(self.by_name)) or "none"
        raise typer.BadParameter(
            f"there is no profile {name!r}; there are: {known}. Run `cnet login --profile {name}`.",
            param_hint="--profile",
        )

    def with_profile(self, name: str, profile: Profile) -> Profiles:
        """The profiles with one more, or with another one of the name."""
        return Profiles(self.path, {**self.by_name, name: profile})

    def without(self, name: str) -> Profiles:
        """The profiles but the one with the name."""
        return Profiles(self.path, {key: each for key, each in self.by_name.items() if key != name})

    def write(self) -> None:
        """Write the file, completely or not at all, readable for its owner alone. Raises OSError."""
        from cnet.files import atomic_path

        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        document = {name: asdict(each) for name, each in sorted(self.by_name.items())}
        with atomic_path(self.path) as draft:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # never readable for others
            with os.fdopen(handle, "w") as file:
                file.write(json.dumps(document, indent=2) + "\n")


def default_path() -> Path:
    """The user's file: ``cnet/profiles.json`` in ``$XDG_CONFIG_HOME``, by default in ``~/.config``."""
    return Path(typer.get_app_dir("cnet")) / "profiles.json"
