"""Show the progress of a job on a server until it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.console.exit_codes import CANCELLED, DONE, FAILED, TIMED_OUT
from app.console.output import emit_line, note

if TYPE_CHECKING:
    from app.console.progress import ProgressBar
    from cnet.client import Client

_CODES = {"succeeded": DONE, "failed": FAILED, "cancelled": CANCELLED, "timed_out": TIMED_OUT}


def exit_code(job: dict[str, Any]) -> int:
    """The exit code of the command for a job that has ended."""
    return _CODES.get(job["status"], FAILED)


def follow(client: Client, job_id: str, *, quiet: bool) -> dict[str, Any]:
    """Show the events of a job as they arrive.

    Returns:
        The job, after it has ended.

    """
    from app.console.progress import ProgressBar

    with ProgressBar("queued", quiet=quiet) as bar:
        for event in client.events(job_id):
            _show(event, bar)
    return client.job(job_id)


def print_outcome(job: dict[str, Any], results: dict[str, Any] | None = None) -> None:
    """Print how a job ended, with its error where it has one, and the verdict on its selected point."""
    error = job.get("error")
    if error:
        note(f"cnet: {error['code']}: {error['detail']}")
    emit_line(f"{job['id']}: {job['status']}")
    if results is not None and results["selected"] is not None:
        emit_line(results_table(results).splitlines()[-1])


def results_table(results: dict[str, Any]) -> str:
    """The results of a job as a table: the baseline, then one row for each point; ``>`` marks the selected one."""
    from cnet.results.damage import verdict
    from cnet.results.points import BaselineResult, Point
    from cnet.results.report import table

    points, selected = [Point.from_json(point) for point in results["points"]], results["selected"]
    baseline = BaselineResult.from_json(results["baseline"])
    shown = table(baseline, points, selected)
    return shown.rstrip("\n") if selected is None else shown + verdict(baseline, points[selected])


def _show(event: dict[str, Any], bar: ProgressBar) -> None:
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
        bar.print_line(_point(value))


def _point(point: dict[str, Any]) -> str:
    metric, accuracy = point.get("metric"), point.get("accuracy")
    shown = "" if accuracy is None else f", accuracy {accuracy:.2f} %"
    if metric is not None and metric["name"] != "accuracy":
        shown = f", {metric['name']} {metric['value']:.4g} {metric['unit']}".rstrip()
    return (
        f"point {point['index']}: sparsity {point['sparsity']:.4f}, clusters {point['clusters'] or '-'}:"
        f" {point['ratio']:.2f} times smaller{shown}"
    )
