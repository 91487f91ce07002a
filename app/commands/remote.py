"""Commands that talk to a server: ``submit``, ``ps``, ``show``, ``logs``, ``wait``, ``cancel``, ``download``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.jobspec import SpecOptions
from app.commands.option_groups import with_groups
from app.commands.options import DEFAULT_SERVER, ApiKey, Json, Server, WeightsKey
from app.commands.parts_help import CommandWithParts
from app.commands.paths import check_output
from app.commands.programs import program_or_checkpoint
from app.commands.uploads import with_uploads
from app.console.follow import exit_code, follow, print_outcome, results_table
from app.console.output import columns, emit_json, emit_line, note

if TYPE_CHECKING:
    from cnet.client import Client

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.")]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", min=0.0, help="Seconds to wait; after them the exit code is 4, and the job goes on."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(cls=CommandWithParts)(with_groups(submit))
    for command in (ps, show, logs, wait, cancel, download):
        app.command()(command)


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
    server: Server = DEFAULT_SERVER,
    api_key: ApiKey = None,
    json: Json = False,
) -> None:
    """Queue a job on the server. Files that it names are uploaded after the server has checked the rest of the job."""
    checkpoint, program = program_or_checkpoint(checkpoint, options.program)
    document = replace(options, program=program).document(checkpoint)
    with _client(server, api_key) as client:
        job = client.submit(with_uploads(client, document, checkpoint, weights_key))
        if follow_it:
            raise typer.Exit(_follow_job(client, job["id"], json=json))
    if json:
        emit_json(job)
    else:
        emit_line(job["id"])


def _follow_job(client: Client, job_id: str, *, json: bool) -> int:
    """The exit code of a job whose end is waited for and printed, with the verdict on its selected point."""
    if not json:
        note(f"job {job_id}")
    job = follow(client, job_id, quiet=json)
    if json:
        emit_json(job)
    else:
        print_outcome(job, client.results(job_id) if job["status"] == "succeeded" else None)
    return exit_code(job)


def ps(
    *,
    status: Annotated[str | None, typer.Option("--status", help="Show only jobs with this status.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Show at most so many jobs.")] = 50,
    server: Server = DEFAULT_SERVER,
    api_key: ApiKey = None,
    json: Json = False,
) -> None:
    """List jobs, newest first."""
    with _client(server, api_key) as client:
        jobs = client.jobs(status=status, limit=limit)
    if json:
        emit_json({"data": jobs})
        return
    rows = [
        (job["id"], job["status"], job["phase"] or "", f"{job['progress']:.0%}", job["created_at"], job["name"] or "")
        for job in jobs
    ]
    emit_line(columns(("JOB", "STATUS", "PHASE", "DONE", "CREATED", "NAME"), rows))


def show(job: JobId, *, server: Server = DEFAULT_SERVER, api_key: ApiKey = None, json: Json = False) -> None:
    """Show a job and its points."""
    with _client(server, api_key) as client:
        document = client.job(job)
        results = client.results(job) if document["status"] != "queued" else None
    if json:
        emit_json({**document, "results": results})
        return
    shown = ("id", "name", "status", "phase", "attempt", "created_at", "started_at", "ended_at", "worker", "error")
    emit_line(columns(("FIELD", "VALUE"), [(name, _cell(document.get(name))) for name in shown]))
    if results and results["baseline"]:
        emit_line("")
        emit_line(results_table(results))


def logs(job: JobId, *, server: Server = DEFAULT_SERVER, api_key: ApiKey = None, json: Json = False) -> None:
    """Print the log of a job."""
    with _client(server, api_key) as client:
        text = client.logs(job)
    if json:
        emit_json({"log": text})
    else:
        emit_line(text.rstrip("\n"))


def wait(
    job: JobId,
    *,
    timeout: Timeout = None,
    server: Server = DEFAULT_SERVER,
    api_key: ApiKey = None,
    json: Json = False,
) -> None:
    """Wait for the end of a job. Exit code: 0 succeeded, 1 failed, 3 cancelled, 4 timed out."""
    with _client(server, api_key) as client:
        document = follow(client, job, quiet=json) if timeout is None else client.wait(job, timeout=timeout)
    if json:
        emit_json(document)
    else:
        print_outcome(document)
    raise typer.Exit(exit_code(document))


def cancel(job: JobId, *, server: Server = DEFAULT_SERVER, api_key: ApiKey = None, json: Json = False) -> None:
    """Cancel a job."""
    with _client(server, api_key) as client:
        document = client.cancel(job)
    if json:
        emit_json(document)
    else:
        emit_line(f"{job}: {document['status']}")


def download(
    job: JobId,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="BUNDLE", help="Where to write the bundle.")],
    point: Annotated[
        int | None, typer.Option("--point", min=0, help="Index of the point; default: the selected one.")
    ] = None,
    server: Server = DEFAULT_SERVER,
    api_key: ApiKey = None,
    json: Json = False,
) -> None:
    """Download the bundle of a job and check it. A failed download leaves no file."""
    check_output(out)
    with _client(server, api_key) as client:
        digest = client.download(job, out, point=point)
    size = out.stat().st_size
    if json:
        emit_json({"file": str(out), "size_bytes": size, "sha256": digest})
    else:
        emit_line(f"{out}: {size:,} bytes, sha256 {digest}")


def _client(server: str, api_key: str | None) -> Client:
    from cnet.client import Client

    return Client(server, api_key, retries=2)  # few, so that a wrong address is reported soon


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value.get('code')}: {value.get('detail')}"
    return "" if value is None else str(value)
