"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from app.formatting import parsed_fraction, parsed_size

_Value = TypeVar("_Value")


def _as_option(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """A parser for the text of an option, which tells a ValueError of ``parse`` as a mistake of the option."""

    @wraps(parse)
    def parsed(text: str) -> _Value:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return parsed


def _parsed_points(text: str) -> float:
    try:
        points = float(text)
    except ValueError:
        points = -1.0
    if not 0 <= points <= 100:
        raise typer.BadParameter(
            f"{text!r} is not a number of percentage points from 0 to 100. Write 1 for a drop from 90 % to 89 %."
        )
    return points


FILES = "Files on this machine"
ON_A_SERVER = "Jobs and files on a server"
SERVICE = "A server of your own"

Json = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write all points to this file as CSV; - prints them instead."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no warnings on standard error; errors are shown.")
]
Data = Annotated[
    Path | None, typer.Option("--data", show_default="CNET_DATA_DIR, else ./data", help="Data folder of the service.")
]
Owner = Annotated[
    str | None,
    typer.Option("--owner", help="Show only what belongs to this owner; for keys with the scope admin, which see all."),
]
Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="A name for the job, which lists and the page show.")
]
JobLabels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="KEY:VALUE", help="A label of the job, by which `ps --label` finds it; repeatable."
    ),
]
Sparsity = Annotated[
    list[float] | None,
    typer.Option(
        "--sparsity",
        parser=_as_option(parsed_fraction),
        metavar="FRACTION",
        help="Fraction of weights to prune, 0 to 1; repeatable.",
    ),
]
Clusters = Annotated[list[int] | None, typer.Option("--clusters", help="Number of centroids, 1 to 65536; repeatable.")]
SpecFile = Annotated[
    Path | None,
    typer.Option("--spec", metavar="FILE", help="A job specification in JSON; the other options win over it."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set any field of the job specification, such as prune.name=lamp or quantize.clusters=[16,32]; VALUE is "
        "JSON, or else text; repeatable; wins over --spec and all options.",
    ),
]
Method = Annotated[str | None, typer.Option("--method", metavar="NAME", help="What training adds to the loss.")]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME|FILE", help="Data set: a built-in one, or a file (npz, CSV, archive)."),
]
Architecture = Annotated[
    str | None, typer.Option("--architecture", metavar="NAME", help="The network's architecture; needs --dataset.")
]
MaxAccuracyDrop = Annotated[
    float | None,
    typer.Option(
        "--max-accuracy-drop",
        parser=_parsed_points,
        metavar="POINTS",
        help="Select the smallest bundle that loses no more percentage points of accuracy. What the job leaves open, "
        "such as the sparsity, is searched; needs --dataset. Of a task whose score is no percentage, such as "
        "regression, take --max-error-rise.",
    ),
]
MaxErrorRise = Annotated[
    float | None,
    typer.Option(
        "--max-error-rise",
        min=0.0,
        metavar="PERCENT",
        help="Select the smallest bundle whose error, such as the mean squared error of a regression, is no more "
        "percent above the original's; searched too; needs --dataset.",
    ),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        parser=_as_option(parsed_size),
        metavar="SIZE",
        help="Select the most accurate bundle of at most this size, in bytes or as 20kB or 1.5MB; searched too.",
    ),
]
MinRatio = Annotated[
    float | None,
    typer.Option(
        "--min-ratio",
        metavar="RATIO",
        help="Select the most accurate bundle that is so many times smaller; searched too.",
    ),
]
MaxKl = Annotated[
    float | None,
    typer.Option(
        "--max-kl",
        min=0.0,
        metavar="NATS",
        help="Select the smallest bundle whose outputs diverge no more from the original's; searched; needs inputs.",
    ),
]
MinAgreement = Annotated[
    float | None,
    typer.Option(
        "--min-agreement",
        min=0.0,
        max=100.0,
        metavar="PERCENT",
        help="Select the smallest bundle that keeps the top class of so many inputs; searched too; needs inputs.",
    ),
]
MinOutputSnr = Annotated[
    float | None,
    typer.Option(
        "--min-output-snr",
        metavar="DB",
        help="Select the smallest bundle whose outputs, being numbers (task regression), have this signal-to-noise "
        "ratio; searched too; needs inputs.",
    ),
]
MinSnr = Annotated[
    float | None,
    typer.Option(
        "--min-snr",
        metavar="DB",
        help="Select the smallest bundle with this signal-to-noise ratio of the weights; searched; needs no inputs.",
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE|ID",
        help="Unlabelled inputs by which the weights are quantized; needs --program or --architecture. On a server "
        "also the id of a data set, ds_...",
    ),
]
NoTraining = Annotated[
    bool,
    typer.Option("--no-training", help="Only measure on the data set: train nothing, and so prune nothing by default."),
]
Quality = Annotated[
    str | None,
    typer.Option(
        "--quality",
        metavar="NAME",
        help="How much the network may change: lossless, safe, small or smallest (quantizer auto; with --inputs the "
        "quantizer calibrated, without lossless).",
    ),
]
WeightsKey = Annotated[
    str | None,
    typer.Option(
        "--weights-key",
        metavar="KEY",
        help="Entry of the checkpoint that holds the weights, such as state_dict or model.ema; default: found by rule.",
    ),
]
Program = Annotated[
    str | None,
    typer.Option(
        "--program",
        metavar="FILE|ID",
        help="The network as a program (.pt2), in place of --architecture; on a server also its id, prog_...",
    ),
]
Streaming = Annotated[
    bool | None,
    typer.Option(
        "--streaming/--no-streaming",
        show_default="for large files",
        help="Read the weights in several passes instead of loading them all; the result is the same.",
    ),
]
Encoder = Annotated[str | None, typer.Option("--encode", metavar="NAME", help="How the bundle's content is encoded.")]
