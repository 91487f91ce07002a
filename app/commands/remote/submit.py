"""``cnet submit``: queue a job, with the files that it names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.files.program_files import program_or_checkpoint
from app.commands.jobspec import Naming, SpecOptions
from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Json, Quiet, WeightsKey
from app.commands.parts_help import CommandWithParts
from app.commands.server_options import ServerOptions
from app.console.follow import exit_code, follow, print_outcome
from app.console.output import emit_json, emit_line, note

if TYPE_CHECKING:
    from cnet.client import Client, Job


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(cls=CommandWithParts, rich_help_panel=ON_A_SERVER)(with_groups(submit))


def submit(
    checkpoint: Annotated[
        str | None,
        typer.Argument(
            metavar="[CHECKPOINT]",
            help="A file to upload (a checkpoint, or a program), or the id of an uploaded checkpoint.",
        ),
    ] = None,
    *,
    options: SpecOptions,
    weights_key: WeightsKey = None,
    follow_it: Annotated[
        bool, typer.Option("--wait", help="Wait for the end of the job and show its progress.")
    ] = False,
    naming: Naming,
    clone: Annotated[
        str | None, typer.Option("--clone", metavar="JOB", help="Begin with the specification of this job.")
    ] = None,
    server: ServerOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Queue a job on the server. Files that it names are uploaded after the server has checked the rest of the job."""
    from app.commands.remote.uploads import with_uploads

    checkpoint, program = program_or_checkpoint(checkpoint, options.program)
    with server.client() as client:
        base = client.job(clone).spec if clone else None
        document = naming.added_to(replace(options, program=program).document(checkpoint, base))
        spec = with_uploads(client, document, checkpoint, weights_key, quiet=quiet)
        if not follow_it and not quiet:  # the log of the job has the same warnings
            _print_warnings(client.validate(spec).warnings)
        job = client.submit(spec)
        if follow_it:
            raise typer.Exit(_follow(client, job, json=json, quiet=quiet))
    _print_queued(job, json=json)


def _print_queued(job: Job, *, json: bool) -> None:
    """Print a job that was queued, and what to do next."""
    if json:
        emit_json(job)
    else:
        emit_line(job.id)
        note(f"next: cnet wait {job.id}")


def _follow(client: Client, job: Job, *, json: bool, quiet: bool) -> int:
    """The exit code of a job whose end is waited for and printed, with what is to say of its selected point."""
    if not quiet:
        note(f"job {job.id}")
    ended = follow(client, job.id, quiet=quiet)
    if json:
        emit_json(ended)
    else:
        print_outcome(ended, client.results(job.id))
    return exit_code(ended)


def _print_warnings(warnings: Iterable[Any]) -> None:
    """Print warnings of the server, each of which is a sentence, or a sentence with a code."""
    for warning in warnings:
        note(f"warning: {warning['detail'] if isinstance(warning, dict) else warning}")
