"""``cnet compare``: the points of several jobs, studies and bundles beside each other."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Csv, Json
from app.commands.paths import check_output
from app.commands.server_options import ServerOptions
from app.console.output import columns, emit_json, emit_line, note, write_csv

if TYPE_CHECKING:
    from app.figures.size_accuracy import Series
    from cnet.client import Client


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(rich_help_panel=ON_A_SERVER)(with_groups(compare))


def compare(
    subjects: Annotated[
        list[str], typer.Argument(metavar="JOB|STUDY|BUNDLE...", help="Ids of jobs and studies, and files of bundles.")
    ],
    *,
    all_points: Annotated[
        bool, typer.Option("--all", help="Show all points, not those alone that no other one beats.")
    ] = False,
    csv: Csv = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write the plot of size against accuracy.")
    ] = None,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Compare points by size and accuracy, the smallest first: those that no other one beats in both.

    `>` marks the points that their jobs selected.
    """
    for path in (csv, svg):
        if path is not None and str(path) != "-":
            check_output(path, *(Path(each) for each in subjects if Path(each).is_file()))
    series = _series(subjects, server)
    rows = _rows(series)
    if csv is not None:
        write_csv(csv, _csv(rows))
    if svg is not None:
        _write_plot(svg, series)
    if str(csv) == "-":
        return
    shown = rows if all_points else [row for row in rows if row["best"]]
    if json:
        emit_json({"data": shown})
    else:
        emit_line(columns(*_table(shown, series)))


def _series(subjects: list[str], server: ServerOptions) -> list[Series]:
    """The points of each subject."""
    files = [subject for subject in subjects if Path(subject).is_file()]
    if len(files) == len(subjects):
        return [_of_bundle(Path(file)) for file in files]
    found: list[Series] = []
    with server.client() as client:
        for subject in subjects:
            if subject in files:
                found.append(_of_bundle(Path(subject)))
            elif subject.startswith("study_"):
                found += _of_study(client, subject)
            else:
                found.append(_of_job(client, subject))
    return found


def _of_job(client: Client, job_id: str) -> Series:
    from app.figures.size_accuracy import Series

    results, job = client.results(job_id), client.job(job_id)
    return Series(job.name or job.id, results.baseline, results.points, results.selected)


def _of_study(client: Client, study_id: str) -> list[Series]:
    from app.figures.size_accuracy import Series

    return [
        Series(member.label, member.baseline, member.points, member.selected)
        for member in client.study_results(study_id).members
    ]


def _of_bundle(path: Path) -> Series:
    """The one point of a bundle. Raises BundleError where it has no notes of a run."""
    from app.figures.size_accuracy import Series
    from cnet.bundle import open_bundle
    from cnet.results.noted_point import noted_point

    opened = open_bundle(path)
    baseline, point = noted_point(path.name, opened.metrics, opened.sizes)
    return Series(path.name, baseline, [point], point.index)


def _rows(series: list[Series]) -> list[dict[str, Any]]:
    """A row for each point, the smallest first; ``best`` where no other one beats it in both size and score."""
    from app.figures.score import Score
    from app.figures.size_accuracy import pareto_front
    from cnet.results.report import table_rows

    score = Score.shared_by([point for each in series for point in each.points])
    pairs = [(each, point) for each in series for point in each.points]
    best = {id(point) for point in pareto_front([point for _, point in pairs], score)}
    return [
        {
            "name": each.name,
            "score": score.of_point(point),
            "best": id(point) in best,
            **table_rows([point], each.selected)[0],
        }
        for each, point in sorted(pairs, key=lambda pair: pair[1].bytes.total)
    ]


def _table(rows: list[dict[str, Any]], series: list[Series]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    from app.figures.score import Score

    score = Score.shared_by([point for each in series for point in each.points])
    headings = ("", "NAME", "POINT", "SPARSITY", "CLUSTERS", score.name.upper(), "RATIO", "BITS", "BYTES")
    return headings, [
        (
            ">" if row["selected"] else "",
            row["name"],
            str(row["index"]),
            f"{row['sparsity']:.4f}",
            str(row["clusters"] or "-"),
            "-" if row["score"] is None else score.text(row["score"]),
            f"{row['ratio']:.2f}",
            f"{row['bits_per_parameter']:.3f}",
            f"{row['bytes_total']:,}",
        )
        for row in rows
    ]


def _csv(rows: list[dict[str, Any]]) -> str:
    import csv

    text = StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["name"])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write_plot(path: Path, series: list[Series]) -> None:
    from app.figures.size_accuracy import plot
    from app.figures.svg import document
    from cnet.errors import CnetError
    from cnet.files import atomic_path

    drawn = plot(series, "Size against accuracy")
    if drawn is None:
        raise CnetError("plot: no point has a number to compare. Wait until a job has made its first point.")
    with atomic_path(path) as draft:
        draft.write_text(document(drawn))
    note(f"wrote {path}")
