"""``cnet study``: grids of jobs on a server."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.jobspec import Naming, SpecOptions
from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Csv, Json, Owner, Quiet, WeightsKey
from app.commands.parts_help import CommandWithParts
from app.commands.server_options import ServerOptions
from app.console.follow import exit_code
from app.console.output import columns, emit_json, emit_line, note, write_csv

if TYPE_CHECKING:
    from cnet.client import Client, Study

commands = typer.Typer(help="Submit, list, show and cancel studies: grids of jobs.", no_args_is_help=True)
StudyId = Annotated[str, typer.Argument(metavar="STUDY", help="Id of the study, `study_...`.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    commands.command(cls=CommandWithParts)(with_groups(submit))
    commands.command("list")(with_groups(list_))
    for command in (show, wait, results, cancel, retry):
        commands.command()(with_groups(command))
    commands.command("rm")(with_groups(remove))
    app.add_typer(commands, name="study", rich_help_panel=ON_A_SERVER)


def submit(
    checkpoint: Annotated[
        str | None, typer.Argument(metavar="[CHECKPOINT]", help="A file to upload, or the id of a checkpoint.")
    ] = None,
    *,
    grid: Annotated[
        list[str],
        typer.Option(
            "--grid",
            metavar="PATH=[VALUES]",
            help="Values of one field, such as 'method.lambda=[0.01,0.1]'; repeatable: there is a job for each "
            "combination.",
        ),
    ],
    options: SpecOptions,
    weights_key: WeightsKey = None,
    naming: Naming,
    follow_it: Annotated[bool, typer.Option("--wait", help="Wait until all jobs have ended.")] = False,
    server: ServerOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Queue one job for each combination of values."""
    from app.commands.remote.uploads import with_uploads

    axes = dict(_axis(text) for text in grid)
    document = naming.added_to(options.document(checkpoint))
    with server.client() as client:
        study = client.submit_study(with_uploads(client, document, checkpoint, weights_key, quiet=quiet), axes)
        if follow_it:
            raise typer.Exit(_wait(client, study.id, None, json=json, quiet=quiet))
    if json:
        emit_json(study)
    else:
        emit_line(study.id)
        note(f"{study.jobs.total} jobs; next: cnet study wait {study.id}")


def _axis(text: str) -> tuple[str, list[Any]]:
    """A path and its values. Raises typer.BadParameter."""
    from app.commands.assignments import Assignment

    path, _, _ = text.partition("=")
    values = Assignment.parse(text).value
    if not isinstance(values, list) or not values:
        raise typer.BadParameter(
            f"{text!r} gives no list of values. Write for example --grid 'quantize.clusters=[8,16]'.",
            param_hint="--grid",
        )
    return path.strip(), values


def list_(
    *,
    owner: Owner = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Show at most so many.")] = 50,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """List studies, newest first."""
    with server.client() as client:
        studies = client.studies(owner=owner, limit=limit)
    if json:
        emit_json({"data": studies})
        return
    rows = [
        (
            one["id"],
            one.get("owner", ""),
            one["status"],
            f"{one['progress']:.0%}",
            str(one["jobs"]["total"]),
            one["created_at"],
            one["name"] or "",
        )
        for one in studies
    ]
    emit_line(columns(("STUDY", "OWNER", "STATUS", "DONE", "JOBS", "CREATED", "NAME"), rows))


def show(study: StudyId, *, server: ServerOptions, json: Json = False) -> None:
    """Show a study and its jobs."""
    with server.client() as client:
        document = client.study(study)
    if json:
        emit_json(document)
        return
    emit_line(f"{document.id}: {document.status}, {document.progress:.0%} done")
    emit_line(_members(document))


def wait(
    study: StudyId,
    *,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.0, help="Seconds to wait; after them the exit code is 4.")
    ] = None,
    server: ServerOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Wait until all jobs of a study have ended. Exit code: 0 succeeded, 1 failed, 3 cancelled, 4 timed out."""
    with server.client() as client:
        raise typer.Exit(_wait(client, study, timeout, json=json, quiet=quiet))


def _wait(client: Client, study_id: str, timeout: float | None, *, json: bool, quiet: bool) -> int:
    from app.console.progress import ProgressBar

    with ProgressBar(study_id, quiet=quiet) as bar:
        study = client.wait_for_study(
            study_id, timeout=timeout, on_change=lambda found: bar.progress(found["progress"])
        )
    if json:
        emit_json(study)
    else:
        emit_line(_members(study))
        emit_line(f"{study.id}: {study.status}")
        emit_line(f"next: cnet compare {study.id}")
    return exit_code(study)


def results(
    study: StudyId,
    *,
    csv: Csv = None,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Show the points of all jobs of a study; `cnet compare` shows the best of them."""
    with server.client() as client:
        if csv is not None:
            write_csv(csv, client.study_csv(study))
            return
        found = client.study_results(study)
    if json:
        emit_json(found)
    else:
        for member in found.members:
            emit_line(f"{member.job} {member.label}: {member.status}, {len(member.points)} points")


def cancel(study: StudyId, *, server: ServerOptions, json: Json = False) -> None:
    """Cancel all jobs of a study that have not ended."""
    with server.client() as client:
        document = client.cancel_study(study)
    _print(document, json=json)


def retry(study: StudyId, *, server: ServerOptions, json: Json = False) -> None:
    """Run the jobs of a study again that failed."""
    with server.client() as client:
        document = client.retry_study(study)
    _print(document, json=json)


def remove(study: StudyId, *, server: ServerOptions, json: Json = False) -> None:
    """Delete a study with all of its jobs and their results."""
    with server.client() as client:
        client.delete_study(study)
    if json:
        emit_json({"id": study, "deleted": True})
    else:
        emit_line(f"{study}: deleted")


def _print(study: Study, *, json: bool) -> None:
    if json:
        emit_json(study)
    else:
        emit_line(f"{study.id}: {study.status}")


def _members(study: Study) -> str:
    """The jobs of a study, a row each."""
    paths = list(study.grid)
    rows = [
        (one.job, one.status, f"{one.progress:.0%}", *(json_module.dumps(one["values"][path]) for path in paths))
        for one in study.members
    ]
    return columns(("JOB", "STATUS", "DONE", *paths), rows)
