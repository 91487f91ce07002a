"""``cnet diff``: how far the tensors of two models are apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import FILES, Json, WeightsKey
from app.commands.paths import check_readable
from app.console.output import columns, emit_json, emit_line, note

if TYPE_CHECKING:
    from cnet.results.difference import TensorDifference
    from cnet.weights import Weights

_CORRECTED = (
    "corrected ({count}): a calibration has moved these biases and running means on purpose, so that the means of the "
    "channels stay as they were. Judge the damage by the other tensors, and by kl and agreement in cnet show."
)

Model = Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint, a bundle or a program.")]


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(rich_help_panel=FILES)(diff)


def diff(first: Model, second: Model, *, weights_key: WeightsKey = None, json: Json = False) -> None:
    """Show the error of each tensor of the second model against the first: checkpoints, bundles or programs.

    CHANGED is how many of its values differ, ZERO how many are zero in the two, SNR the signal-to-noise ratio in dB,
    LARGEST the largest difference. A prefix that wrappers add to all names may differ. Biases and running means that
    a calibration has moved on purpose are marked as corrected.
    """
    from cnet.pipeline.local.model_file import corrected_tensors, read_model
    from cnet.results.difference import tensor_differences, total_difference

    for path in (first, second):
        check_readable(path)
    one, other = read_model(first, weights_key), read_model(second, weights_key)
    rows = tensor_differences(one, other, _common_names(one, other))
    total = total_difference(rows)
    movable = corrected_tensors(first) | corrected_tensors(second)
    corrected = [row.name for row in rows if row.changed and row.name in movable]
    if json:
        equal = total.changed == 0 and all(row.dtype == row.other_dtype for row in rows)
        tensors = [row.to_json() for row in rows]
        names = {"first": str(first), "second": str(second), "equal": equal, "corrected": corrected}
        emit_json({**names, "tensors": tensors, "total": total.to_json()})
        return
    table = [_cells(row, corrected=row.name in corrected) for row in (*rows, total)]
    emit_line(columns(("TENSOR", "SHAPE", "TYPE", "CHANGED", "ZERO", "MSE", "SNR", "LARGEST"), table))
    if corrected:
        note(_CORRECTED.format(count=len(corrected)))


def _common_names(one: Weights, other: Weights) -> dict[str, str]:
    """The name in the second model by that in the first.

    Raises:
        ArchitectureMismatchError: names or shapes differ; all of them are listed.
    """
    from cnet.models.match import MismatchWords
    from cnet.models.programs import TensorType, match_names

    words = MismatchWords("first file", "second file", "Name two models of one network.")
    first, second = ({tensor.name: TensorType("float32", tensor.shape) for tensor in each} for each in (one, other))
    return match_names(first, second, words)


def _cells(row: TensorDifference, *, corrected: bool) -> tuple[str, ...]:
    shape = "x".join(map(str, row.shape)) or "scalar"
    zeros = tuple(f"{count / row.parameters:.1%}" if row.parameters else "-" for count in (row.zeros, row.other_zeros))
    return (
        row.name,
        shape if row.name != "total" else f"{row.parameters:,} values",
        row.dtype if row.dtype == row.other_dtype else f"{row.dtype} -> {row.other_dtype}",
        f"{row.changed / row.parameters:.1%}" if row.parameters else "-",
        zeros[0] if zeros[0] == zeros[1] else f"{zeros[0]} -> {zeros[1]}",
        f"{row.mse:.4g}",
        "equal" if not row.changed else _snr(row) + (" corrected" if corrected else ""),
        f"{row.largest:.4g}",
    )


def _snr(row: TensorDifference) -> str:
    return "-" if row.snr_db is None else f"{row.snr_db:.1f} dB"
