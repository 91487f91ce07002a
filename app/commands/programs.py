"""``cnet programs``: the programs on a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import DEFAULT_SERVER, ApiKey, Json, Server
from app.console.output import columns, emit_json, emit_line

if TYPE_CHECKING:
    from cnet.client import Client

commands = typer.Typer(help="Upload, list, show and delete programs: exported networks (.pt2).", no_args_is_help=True)
ProgramId = Annotated[str, typer.Argument(metavar="ID", help="Id of the program, `prog_...`.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(commands, name="programs")


@commands.command()
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A torch.export archive (.pt2).")],
    *,
    server: Server = DEFAULT_SERVER,
    api_key: ApiKey = None,
    json: Json = False,
) -> None:
    """Upload a program and print its id."""
    with _client(server, api_key) as client:
        program = client.upload_program(file)
    if json:
        emit_json(program)
    else:
        emit_line(program["id"])


@commands.command("list")
def list_(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Show at most so many programs.")] = 50,
    server: Server = DEFAULT_SERVER,
    api_key: ApiKey = None,
    json: Json = False,
) -> None:
    """List programs, newest first."""
    with _client(server, api_key) as client:
        programs = client.programs(limit=limit)
    if json:
        emit_json({"data": programs})
        return
    rows = [
        (one["id"], _tensors(one["inputs"]), _tensors(one["outputs"]), f"{one['parameters']:,}", one["filename"] or "")
        for one in programs
    ]
    emit_line(columns(("PROGRAM", "INPUTS", "OUTPUTS", "PARAMETERS", "FILE"), rows))


@commands.command()
def show(program_id: ProgramId, *, server: Server = DEFAULT_SERVER, api_key: ApiKey = None, json: Json = False) -> None:
    """Show a program."""
    with _client(server, api_key) as client:
        program = client.program(program_id)
    if json:
        emit_json(program)
    else:
        emit_line(columns(("FIELD", "VALUE"), facts_table(program)))


@commands.command()
def rm(program_id: ProgramId, *, server: Server = DEFAULT_SERVER, api_key: ApiKey = None, json: Json = False) -> None:
    """Delete a program that no job needs any more."""
    with _client(server, api_key) as client:
        client.delete_program(program_id)
    if json:
        emit_json({"id": program_id, "deleted": True})
    else:
        emit_line(f"{program_id}: deleted")


def program_or_checkpoint(checkpoint: str | None, program: str | None) -> tuple[str | None, str | None]:
    """The checkpoint and the program of a job, where a program's file was given as the file to compress."""
    from cnet.models.programs import is_program

    if checkpoint is not None and program is None and Path(checkpoint).is_file() and is_program(Path(checkpoint)):
        return None, checkpoint
    return checkpoint, program


def describe_program(file: Path) -> dict[str, Any]:
    """What a torch.export archive holds, as a JSON object; nothing of it is executed. Raises ProgramError, OSError."""
    from cnet.models.programs import ProgramManifest, read_program

    manifest = ProgramManifest.of(read_program(file))
    shown = ("parameters", "train_graph", "tied", "operators", "torch_version")
    return {
        "kind": "program",
        "inputs": [_tensor(one.name, one.shape, one.dtype) for one in manifest.inputs],
        "outputs": [_tensor(one.name, one.shape, one.dtype) for one in manifest.outputs],
        "trainable": manifest.untrainable is None,
        **{name: getattr(manifest, name) for name in shown},
        "warnings": [warning.model_dump() for warning in manifest.warnings],
        "tensors": [{"name": row.name, "shape": list(row.shape), "dtype": row.dtype} for row in manifest.tensors],
    }


def facts_table(program: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts of a program, a row for each, as text."""
    return [(name, _cell(name, value)) for name, value in program.items()]


def _cell(name: str, value: Any) -> str:
    if name in ("inputs", "outputs"):
        return _tensors(value)
    if name == "warnings":
        return "; ".join(f"{row['code']}: {row['detail']}" for row in value) or "-"
    if name == "tied":
        return "; ".join(" = ".join(group) for group in value) or "-"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _tensor(name: str, shape: tuple[int | str | None, ...], dtype: str) -> dict[str, Any]:
    return {"name": name, "shape": [size if isinstance(size, int) else None for size in shape], "dtype": dtype}


def _tensors(rows: list[dict[str, Any]]) -> str:
    """Name, type and shape of each tensor; ``any`` stands for a size of any number."""
    return ", ".join(
        f"{row['name']} {row['dtype']} ({', '.join('any' if size is None else str(size) for size in row['shape'])})"
        for row in rows
    )


def _client(server: str, api_key: str | None) -> Client:
    from cnet.client import Client

    return Client(server, api_key, retries=2)
