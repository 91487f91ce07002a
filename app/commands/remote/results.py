"""Commands for the results of jobs: ``download``, ``metrics``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Csv, Json, Quiet
from app.commands.paths import check_output
from app.commands.remote.jobs import JobId
from app.commands.server_options import ServerOptions
from app.console.output import columns, emit_json, emit_line, write_csv

if TYPE_CHECKING:
    from cnet.results.points import Point

PointIndex = Annotated[
    int | None, typer.Option("--point", min=0, help="Index of the point; default: the selected one.")
]

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where to write the bundle; .safetensors, .pt, .pth and .onnx give the decoded model.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="bundle, or a format of the decoded model: safetensors, torch, npz, onnx, ...",
        show_default="by the suffix of --out",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    for command in (download, metrics):
        app.command(rich_help_panel=ON_A_SERVER)(with_groups(command))


def download(
    job: JobId,
    *,
    out: Out,
    format_: Format = None,
    point: PointIndex = None,
    server: ServerOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Download the bundle of a job, or its decoded model, and check it. A failed download leaves no file."""
    from app.console.transfer import transfer_bar

    check_output(out)
    kind = format_ or _format_of(out)
    with server.client() as client, transfer_bar(out.name, quiet=quiet) as bar:
        if kind == "bundle":
            digest = client.download(job, out, point=point, on_progress=bar)
        else:
            digest = client.download_model(job, out, format=kind, point=point, on_progress=bar)
    size = out.stat().st_size
    if json:
        emit_json({"file": str(out), "format": kind, "size_bytes": size, "sha256": digest})
        return
    emit_line(f"{out}: {size:,} bytes, sha256 {digest}")
    if kind == "bundle":
        emit_line(f'next: cnet unpack {out} -o model.safetensors, or in Python cnet.load_into(module, "{out}")')


def _format_of(out: Path) -> str:
    """The format that a suffix stands for: that of a decoded model, or a bundle."""
    from cnet.formats import FORMATS, writable_formats

    suffixes = {
        suffix: name for name in writable_formats() for suffix in FORMATS.get(name).suffixes if suffix != ".npz"
    }
    return suffixes.get(out.suffix.lower(), "bundle")


def metrics(
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Id of the job.")] = None,
    *,
    point: PointIndex = None,
    layers: Annotated[bool, typer.Option("--layers", help="Show a row for each tensor of the point.")] = False,
    csv: Csv = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each number means, with its unit; needs no job.")
    ] = False,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Show every number of a point: its unit, and what it means."""
    if explain:
        _explain(json=json)
        return
    if job is None:
        raise typer.BadParameter("no job is named. Name one, or ask for --explain.", param_hint="JOB")
    with server.client() as client:
        if csv is not None:
            write_csv(csv, client.metrics_csv(job))
            return
        found = client.metrics(job)
    if json:
        emit_json(found)
        return
    chosen = _point(found.points, found.selected if point is None else point, job)
    emit_line(columns(*(_layer_table(chosen) if layers else _point_table(chosen))))


def _point(points: list[Point], index: int | None, job: str) -> Point:
    """The point with an index. Raises CnetError where there is none."""
    from cnet.errors import CnetError

    for each in points:
        if each.index == index:
            return each
    if index is None:
        raise CnetError(f"job {job}: no point is selected. Choose one of its {len(points)} points with --point.")
    raise CnetError(f"job {job}: it has no point {index}. Choose one of its {len(points)} points.")


def _point_table(point: Point) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    from cnet.results.report import explained_columns, table_rows

    row = table_rows([point], point.index)[0]
    explained = explained_columns(type(point))
    return ("METRIC", "VALUE", "UNIT", "MEANING"), [
        (name, _text(row[name]), metric.unit, metric.description) for name, metric in explained.items()
    ]


def _layer_table(point: Point) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    from cnet.results.metrics import declared_metrics
    from cnet.results.points import LayerResult

    names = [each.name for each in declared_metrics(LayerResult)]
    rows = [layer.to_json() for layer in point.layers]
    return tuple(name.upper() for name in names), [tuple(_text(row[name]) for name in names) for row in rows]


def _explain(*, json: bool) -> None:
    from cnet.results.report import explained_columns

    rows = [(name, metric.unit, metric.description) for name, metric in explained_columns().items()]
    if json:
        emit_json({"data": [dict(zip(("name", "unit", "description"), row, strict=True)) for row in rows]})
    else:
        emit_line(columns(("METRIC", "UNIT", "MEANING"), rows))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "x".join(map(str, value)) or "scalar"
    return "-" if value is None else str(value)
