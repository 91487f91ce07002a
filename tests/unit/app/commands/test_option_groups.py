"""Options that commands take as one argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from app.commands.option_groups import with_groups

Times = Annotated[int, typer.Option("--times", min=1, help="How often.")]
Loud = Annotated[bool, typer.Option("--loud")]


@dataclass(frozen=True)
class Manner:
    """A group of two options."""

    times: Times = 1
    loud: Loud = False


@dataclass(frozen=True)
class Broken:
    """A group whose option has no default."""

    times: Times


def greet(name: str, *, manner: Manner, end: Annotated[str, typer.Option("--end")] = ".") -> None:
    """Greet somebody."""
    text = " ".join(["hello"] * manner.times + [name]) + end
    typer.echo(text.upper() if manner.loud else text)


def output(*arguments: str) -> str:
    """What the command prints."""
    app = typer.Typer()
    app.command()(with_groups(greet))
    return CliRunner().invoke(app, list(arguments)).output


def test_a_command_gets_the_group_as_one_object() -> None:
    """With the defaults of its fields, and with the options that are given."""
    assert output("you") == "hello you.\n"
    assert output("you", "--times", "2", "--loud", "--end", "!") == "HELLO HELLO YOU!\n"


def test_options_of_a_group_are_checked_and_described() -> None:
    """As those of the command itself."""
    assert "--times" in output("you", "--times", "0")
    assert "How often." in output("--help")


def test_an_option_without_a_default_is_a_mistake_of_the_group() -> None:
    """It is found when the command is made."""

    def command(*, group: Broken) -> None:
        del group

    with pytest.raises(TypeError, match=r"times: the field has no default\. Give it one"):
        with_groups(command)
