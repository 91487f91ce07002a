"""Show the progress of a job on a server until it ends, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.console.exit_codes import CANCELLED, DONE, FAILED, TIMED_OUT
from app.console.output import emit_line, note

if TYPE_CHECKING:
    from app.console.progress import ProgressBar
    from cnet.client import Client, Job

_CODES = {"succeeded": DONE, "failed": FAILED, "cancelled": CANCELLED, "timed_out": TIMED_OUT}


def exit_code(job: dict[str, Any]) -> int:
    """The exit code of the command for a job that has ended."""
    return _CODES.get(job["status"], FAILED)


def follow(client: Client, job_id: str, *, quiet: bool, timeout: float | None = None) -> Job:
    """Show the events of a job as they arrive.

    Args:
        client: of the server.
        job_id: the job.
        quiet: show nothing.
        timeout: how many seconds to wait; None: until the job has ended.

    Returns:
        The job, after it has ended.

    Raises:
        WaitTimeoutError: it has not ended in time. It goes on.

    """
    from app.console.progress import ProgressBar

    try:
        with ProgressBar("queued", quiet=quiet) as bar:
            return client.wait(job_id, timeout=timeout, on_event=lambda event: _show(event, bar))
    except KeyboardInterrupt:
        note(f"the job goes on; `cnet wait {job_id}` shows it again, `cnet cancel {job_id}` ends it")
        raise


def print_outcome(job: dict[str, Any], results: dict[str, Any]) -> None:
    """Print how a job ended: its error where it has one, its points, the selected one, and what to do next."""
    from app.console.summary import Finished

    error, job_id = job.get("error"), job["id"]
    finished = Finished.from_json(results, job["spec"])
    if finished is not None and finished.points:
        emit_line(finished.table())
        emit_line("")
    if error:
        note(f"cnet: {error['code']}: {error['detail']}")
    emit_line(f"{job_id}: {job['status']}")
    if finished is not None and job["status"] == "succeeded":
        emit_line(finished.summary([f"cnet download {job_id} -o model.cnet.npz"]))
    else:
        emit_line(f"next: cnet logs {job_id}, or cnet retry {job_id}")


def results_table(results: dict[str, Any], spec: dict[str, Any]) -> str:
    """The results of a job as a table, and what is to say of the selected point where there is one."""
    from app.console.summary import Finished

    finished = Finished.from_json(results, spec)
    if finished is None:
        return ""
    return finished.table() if finished.point is None else f"{finished.table()}\n\n{finished.summary()}"


def _show(event: dict[str, Any], bar: ProgressBar) -> None:
    from cnet.results.points import Point

    kind = event["type"]
    value = event.get(kind)
    if kind == "phase" and isinstance(value, str):
        bar.phase(value)
    elif kind == "progress" and isinstance(value, int | float):
        bar.progress(float(value))
    elif kind == "metric" and isinstance(value, dict):
        bar.metric(value)
    elif kind == "log":
        bar.log(str(value))
    elif kind == "point" and isinstance(value, dict):
        bar.show_point(Point.from_json(value))
