"""Profiles: which server a command talks to, and what is stored."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import typer

from app.commands.profiles import Profile, Profiles, default_path
from app.commands.server_options import DEFAULT_SERVER, ServerOptions


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for settings of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


def store(**profiles: Profile) -> None:
    """Write profiles to the user's file."""
    Profiles(default_path(), profiles).write()


def test_the_file_is_readable_for_its_owner_alone(home: Path) -> None:
    """It is where XDG says, and its folder is closed too."""
    store(default=Profile("https://cnet.example", "cnet_secret"))

    path = home / "cnet" / "profiles.json"
    assert json.loads(path.read_text()) == {"default": {"server": "https://cnet.example", "api_key": "cnet_secret"}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_without_a_profile_a_server_on_this_machine_is_meant() -> None:
    """Without a key."""
    assert ServerOptions().chosen() == Profile(DEFAULT_SERVER, None)
    assert not ServerOptions().is_given


def test_a_profile_gives_server_and_key() -> None:
    """The default one, or the one that is named; a key that is given comes first."""
    store(default=Profile("https://one.example", "key1"), other=Profile("https://two.example", "key2"))

    assert ServerOptions().chosen() == Profile("https://one.example", "key1")
    assert ServerOptions(profile="other").chosen() == Profile("https://two.example", "key2")
    assert ServerOptions(api_key="mine").chosen() == Profile("https://one.example", "mine")
    assert ServerOptions().is_given


def test_the_key_of_a_profile_goes_to_no_other_server() -> None:
    """The same address with a slash is the same server."""
    store(default=Profile("https://one.example", "key1"))

    assert ServerOptions(server="https://evil.example").chosen() == Profile("https://evil.example", None)
    assert ServerOptions(server="https://one.example/").chosen() == Profile("https://one.example", "key1")


def test_an_unknown_profile_names_the_known_ones() -> None:
    """And how to make it."""
    store(work=Profile("https://one.example"))

    with pytest.raises(typer.BadParameter, match=r"there are: work\. Run `cnet login --profile home`"):
        ServerOptions(profile="home").chosen()


@pytest.mark.parametrize("text", ["", "[]", '{"default": 3}', '{"default": {}}'])
def test_a_damaged_file_says_what_to_do(home: Path, text: str) -> None:
    """Delete it."""
    (home / "cnet").mkdir(parents=True)
    (home / "cnet" / "profiles.json").write_text(text)

    with pytest.raises(typer.BadParameter, match=r"Delete it, then run `cnet login` again\."):
        ServerOptions().chosen()
