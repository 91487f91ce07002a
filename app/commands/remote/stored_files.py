"""``cnet upload``, and the groups ``checkpoints``, ``datasets`` and ``programs``: what is stored on a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.files.program_files import facts_table, tensors_text
from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Json, Owner, Quiet, WeightsKey
from app.commands.paths import check_readable
from app.commands.server_options import ServerOptions
from app.console.output import columns, emit_json, emit_line

if TYPE_CHECKING:
    from cnet.client import Client

Upload = Callable[..., dict[str, Any]]
OneFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file.")]
ObjectId = Annotated[str, typer.Argument(metavar="ID", help="Its id, as `list` shows it.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Show at most so many.")]


@dataclass(frozen=True)
class Noun:
    """A kind of stored file.

    Attributes:
        name: as in the names of the client's methods, such as ``program``.
        words: as a person says it, in the singular.
        facts: headings of the list, and what they show of an object.
    """

    name: str
    words: str
    facts: dict[str, Callable[[dict[str, Any]], str]]

    def upload(self, client: Client) -> Upload:
        """The method of the client that uploads a file."""
        method: Upload = getattr(client, f"upload_{self.name}")
        return method


CHECKPOINT = Noun(
    "checkpoint",
    "checkpoint",
    {
        "FORMAT": lambda one: one["format"],
        "TENSORS": lambda one: str(one["tensors"]),
        "PARAMETERS": lambda one: f"{one['parameters']:,}",
        "BYTES": lambda one: f"{one['size_bytes']:,}",
    },
)
DATASET = Noun(
    "dataset",
    "data set",
    {
        "FORMAT": lambda one: one["format"],
        "SAMPLES": lambda one: ", ".join(f"{name} {count:,}" for name, count in one["splits"].items()),
        "SHAPE": lambda one: "x".join(map(str, one["input_shape"])),
        "CLASSES": lambda one: str(one["classes"] or "-"),
        "BYTES": lambda one: f"{one['size_bytes']:,}",
    },
)
PROGRAM = Noun(
    "program",
    "program",
    {
        "INPUTS": lambda one: tensors_text(one["inputs"]),
        "OUTPUTS": lambda one: tensors_text(one["outputs"]),
        "PARAMETERS": lambda one: f"{one['parameters']:,}",
    },
)


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(rich_help_panel=ON_A_SERVER)(with_groups(upload))
    for noun in (CHECKPOINT, DATASET, PROGRAM):
        app.add_typer(NounCommands(noun).group(), name=f"{noun.name}s", rich_help_panel=ON_A_SERVER)


def upload(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Checkpoints, data sets or programs (.pt2).")],
    *,
    kind: Annotated[
        str | None,
        typer.Option("--as", metavar="KIND", help="checkpoint, dataset or program.", show_default="by the content"),
    ] = None,
    weights_key: WeightsKey = None,
    server: ServerOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Upload files and print their ids. An upload that was cut off goes on where it ended."""
    from app.commands.remote.uploads import upload_with_bar

    nouns = [_noun_of(file, kind, weights_key) for file in files]
    documents = []
    with server.client() as client:
        for file, noun in zip(files, nouns, strict=True):
            way = noun.upload(client)
            if weights_key is not None:
                way = partial(way, weights_key=weights_key)
            documents.append(upload_with_bar(way, file, quiet=quiet))
            if not json:
                emit_line(documents[-1]["id"])
    if json:
        emit_json(documents[0] if len(documents) == 1 else {"data": documents})


def _noun_of(file: Path, kind: str | None, weights_key: str | None) -> Noun:
    """The kind of a file: as it is called, or as its content says.

    Raises:
        typer.BadParameter: there is no such file or kind, or a data set has no entry of weights.
    """
    from app.commands.files.file_kinds import kind_of

    check_readable(file)
    known = {noun.name: noun for noun in (CHECKPOINT, DATASET, PROGRAM)}
    if kind is not None and kind not in known:
        raise typer.BadParameter(f"there is no kind {kind!r}. Use one of: {', '.join(known)}.", param_hint="--as")
    found = known.get(kind or kind_of(file), CHECKPOINT)
    if weights_key is not None and found is not CHECKPOINT:
        raise typer.BadParameter(
            f"{file} is a {found.words}, which has no entry of weights. Leave it out.", param_hint="--weights-key"
        )
    return found


class NounCommands:
    """The commands ``add``, ``list``, ``show`` and ``rm`` for one kind of stored file.

    Args:
        noun: the kind.
    """

    def __init__(self, noun: Noun) -> None:
        self._noun = noun

    def group(self) -> typer.Typer:
        """The commands under their names."""
        words = self._noun.words
        made = typer.Typer(help=f"Upload, list, show and delete {words}s on a server.", no_args_is_help=True)
        made.command("add", help=f"Upload a {words} and print its id.")(with_groups(self.add))
        made.command("list", help=f"List {words}s, newest first.")(with_groups(self.find))
        made.command("show", help=f"Show a {words}.")(with_groups(self.show))
        made.command("rm", help=f"Delete a {words} that no job needs any more.")(with_groups(self.remove))
        return made

    def add(self, file: OneFile, *, server: ServerOptions, json: Json = False, quiet: Quiet = False) -> None:
        """Upload a file and print the id of the object."""
        from app.commands.remote.uploads import upload_with_bar

        check_readable(file)
        with server.client() as client:
            document = upload_with_bar(self._noun.upload(client), file, quiet=quiet)
        if json:
            emit_json(document)
        else:
            emit_line(document["id"])

    def find(self, *, owner: Owner = None, limit: Limit = 50, server: ServerOptions, json: Json = False) -> None:
        """List the objects, newest first."""
        with server.client() as client:
            found = getattr(client, f"{self._noun.name}s")(owner=owner, limit=limit)
        if json:
            emit_json({"data": found})
            return
        facts = self._noun.facts
        rows = [
            (one["id"], one.get("owner", ""), *(fact(one) for fact in facts.values()), one["filename"] or "")
            for one in found
        ]
        emit_line(columns((self._noun.words.upper(), "OWNER", *facts, "FILE"), rows))

    def show(self, one: ObjectId, *, server: ServerOptions, json: Json = False) -> None:
        """Show an object."""
        with server.client() as client:
            document = getattr(client, self._noun.name)(one)
        if json:
            emit_json(document)
        else:
            emit_line(columns(("FIELD", "VALUE"), facts_table(document)))

    def remove(self, one: ObjectId, *, server: ServerOptions, json: Json = False) -> None:
        """Delete an object that no job needs any more."""
        with server.client() as client:
            getattr(client, f"delete_{self._noun.name}")(one)
        if json:
            emit_json({"id": one, "deleted": True})
        else:
            emit_line(f"{one}: deleted")
