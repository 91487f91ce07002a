"""Commands for jobs on a server: ``ps``, ``show``, ``logs``, ``wait``, ``cancel``, ``retry``, ``delete``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Json, Owner, Quiet
from app.commands.server_options import ServerOptions
from app.console.follow import exit_code, follow, print_outcome, results_table
from app.console.output import columns, emit_json, emit_line

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.")]
JobIds = Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids of jobs.")]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", min=0.0, help="Seconds to wait; after them the exit code is 4, and the job goes on."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    for command in (ps, show, logs, wait, cancel, retry, delete):
        app.command(rich_help_panel=ON_A_SERVER)(with_groups(command))


def ps(
    *,
    status: Annotated[str | None, typer.Option("--status", help="Show only jobs with this status.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="ID", help="Show only jobs that compress this checkpoint.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="KEY[:VALUE]", help="Show only jobs with this label.")
    ] = None,
    owner: Owner = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Show at most so many jobs.")] = 50,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """List jobs, newest first."""
    with server.client() as client:
        jobs = client.jobs(status=status, checkpoint=checkpoint, label=label, owner=owner, limit=limit)
    if json:
        emit_json({"data": jobs})
        return
    rows = [
        (
            job["id"],
            job.get("owner", ""),
            job["status"],
            job["phase"] or "",
            f"{job['progress']:.0%}",
            job["created_at"],
            job["name"] or "",
        )
        for job in jobs
    ]
    emit_line(columns(("JOB", "OWNER", "STATUS", "PHASE", "DONE", "CREATED", "NAME"), rows))


def show(job: JobId, *, server: ServerOptions, json: Json = False) -> None:
    """Show a job and its points; docs/metrics.md and `cnet metrics --explain` say what their columns mean."""
    with server.client() as client:
        document = client.job(job)
        results = client.results(job) if document["status"] != "queued" else None
        deliveries = client.deliveries(job) if document["spec"].get("webhook") else []
    if json:
        emit_json({**document, "results": results, "deliveries": deliveries})
        return
    times = ("created_at", "started_at", "ended_at")
    shown = ("id", "owner", "name", "status", "phase", "attempt", *times, "worker", "error")
    facts = [(name, _cell(document.get(name))) for name in shown]
    facts += [
        ("webhook", f"{one.state} after {one.attempts} attempts. {one.error or ''}".strip()) for one in deliveries
    ]
    emit_line(columns(("FIELD", "VALUE"), facts))
    if results and results["baseline"]:
        emit_line("")
        emit_line(results_table(results, document["spec"]))


def logs(
    job: JobId,
    *,
    follow_it: Annotated[
        bool, typer.Option("--follow", "-f", help="Print what is added until the job has ended.")
    ] = False,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Print the log of a job."""
    with server.client() as client:
        if follow_it and not json:
            for text in client.follow_logs(job):
                sys.stdout.write(text)
                sys.stdout.flush()
            return
        if follow_it:
            client.wait(job)
        text = client.logs(job)
    if json:
        emit_json({"log": text})
    else:
        emit_line(text.rstrip("\n"))


def wait(
    job: JobId, *, timeout: Timeout = None, server: ServerOptions, json: Json = False, quiet: Quiet = False
) -> None:
    """Show the progress of a job until it ends. Exit code: 0 succeeded, 1 failed, 3 cancelled, 4 timed out."""
    with server.client() as client:
        document = follow(client, job, quiet=quiet, timeout=timeout)
        if json:
            emit_json(document)
        else:
            print_outcome(document, client.results(job))
    raise typer.Exit(exit_code(document))


def cancel(jobs: JobIds, *, server: ServerOptions, json: Json = False) -> None:
    """Cancel jobs."""
    with server.client() as client:
        documents = [client.cancel(job) for job in jobs]
    _print_jobs(documents, [f"{each['id']}: {each['status']}" for each in documents], json=json)


def retry(
    jobs: JobIds,
    *,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Submit the jobs again, as new jobs with the same specification, and print their ids."""
    with server.client() as client:
        documents = [client.retry(job) for job in jobs]
    _print_jobs(documents, [each["id"] for each in documents], json=json)


def delete(jobs: JobIds, *, server: ServerOptions, json: Json = False) -> None:
    """Delete jobs and their results; those that have not ended are cancelled."""
    with server.client() as client:
        for job in jobs:
            client.delete_job(job)
    _print_jobs([{"id": job, "deleted": True} for job in jobs], [f"{job}: deleted" for job in jobs], json=json)


def _print_jobs(documents: list[Any], lines: list[str], *, json: bool) -> None:
    """One document or line for each job; the JSON of a single job is that job."""
    if json:
        emit_json(documents[0] if len(documents) == 1 else {"data": documents})
    else:
        emit_line("\n".join(lines))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value.get('code')}: {value.get('detail')}"
    return "" if value is None else str(value)
