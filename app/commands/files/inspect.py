"""``cnet inspect``: what a file contains, a row for each tensor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.files.compress import checkpoint_facts
from app.commands.files.program_files import describe_program, describe_tensors, facts_table, heading_of
from app.commands.options import FILES, Json, WeightsKey
from app.commands.paths import check_readable
from app.console.output import columns, emit_json, emit_line

if TYPE_CHECKING:
    from cnet.bundle import Bundle
    from cnet.symbols import Symbols

_LABELS = ("clusters", "label_entropy")


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(rich_help_panel=FILES)(inspect)


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint, a program or a bundle.")],
    *,
    weights_key: WeightsKey = None,
    json: Json = False,
) -> None:
    """Show what a checkpoint, a program (.pt2) or a bundle contains, a row for each tensor.

    Of a bundle, VALUES is how many values the non-zero weights of a tensor share, and BITS the entropy of their labels.
    """
    check_readable(file)
    document = _describe(file, weights_key)
    if json:
        emit_json({"file": str(file), "size_bytes": file.stat().st_size, **document})
        return
    baseline = (document.get("metrics") or {}).pop("baseline", None)
    if baseline is not None:
        document["original"] = baseline
    tensors, warnings = document.pop("tensors"), document.pop("warnings", [])
    emit_line(_tensor_table(tensors, with_labels=document["kind"] == "bundle"))
    emit_line("")
    is_program = document["kind"] == "program"
    facts = (
        facts_table(document) if is_program else [(heading_of(name), _cell(value)) for name, value in document.items()]
    )
    emit_line(columns(("FIELD", "VALUE"), facts))
    for warning in warnings:
        about = "" if warning["tensor"] is None else f"tensor {warning['tensor']!r}: "
        emit_line(f"warning ({warning['code']}): {about}{warning['detail']}")


def _tensor_table(tensors: list[dict[str, Any]], *, with_labels: bool) -> str:
    """A row for each tensor; of a bundle with how many values its labels stand for, and their entropy."""
    headings = ["TENSOR", "SHAPE", "TYPE", "COMPRESSED", "ZERO", "MIN", "MAX", "STD"]
    rows = [
        [
            str(row["name"]),
            "x".join(map(str, row["shape"])) or "scalar",
            str(row["dtype"]),
            "yes" if row["compressible"] else "",
            f"{row['zeros'] / row['parameters']:.2%}" if row["parameters"] else "-",
            *("-" if row[name] is None else f"{row[name]:.4g}" for name in ("min", "max", "std")),
            *(["-" if row[name] is None else f"{row[name]:.4g}" for name in _LABELS] if with_labels else []),
        ]
        for row in tensors
    ]
    return columns([*headings, *(("VALUES", "BITS") if with_labels else ())], rows)


def _describe(file: Path, weights_key: str | None) -> dict[str, Any]:
    from cnet.bundle import open_bundle
    from cnet.formats import is_bundle
    from cnet.models.programs import is_program

    if is_bundle(file):
        return _describe_bundle(open_bundle(file))
    return describe_program(file) if is_program(file) else _describe_checkpoint(file, weights_key)


def _cell(value: Any) -> str:
    """A value as text: of an object the members that are there, one after the other."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(part)}" for name, part in value.items() if part is not None)
    if isinstance(value, list):
        return " ".join(_cell(part) for part in value) or "-"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
    return "-" if value is None else str(value)


def _describe_checkpoint(file: Path, weights_key: str | None) -> dict[str, Any]:
    from cnet.formats import read_checkpoint

    checkpoint = read_checkpoint(file, weights_key=weights_key)
    weights = checkpoint.weights
    return {
        "kind": "checkpoint",
        "format": checkpoint.format,
        **checkpoint_facts(checkpoint),
        "parameters": weights.parameters,
        "compressible_parameters": weights.compressible_parameters,
        "tensors": describe_tensors(weights),
    }


def _describe_bundle(bundle: Bundle) -> dict[str, Any]:
    from dataclasses import asdict

    weights, symbols = bundle.weights(), bundle.symbols()
    labels = _labels(bundle, symbols)
    missing = dict.fromkeys(_LABELS)
    return {
        "kind": "bundle",
        "parameters": weights.parameters,
        "compressible_parameters": weights.compressible_parameters,
        "sparsity": symbols.sparsity,
        "clusters": symbols.clusters,
        "bytes": {name: value for name, value in asdict(bundle.sizes).items() if name != "sha256"},
        "metrics": bundle.metrics,
        "tensors": [{**row, **labels.get(row["name"], missing)} for row in describe_tensors(weights)],
    }


def _labels(bundle: Bundle, symbols: Symbols) -> dict[str, dict[str, Any]]:
    """How many labels a tensor uses, and their entropy in bits, by the tensor's name; of factors there are none."""
    import numpy as np

    from cnet.results.measures import entropy

    if symbols.labels is None:
        return {}
    stored, found, start = bundle.stored(), {}, 0
    for name in stored.compressible:
        part = slice(start, start + stored[name].size)
        start = part.stop
        used = next(iter(symbols.read([part]))).labels
        counts = np.bincount(used) if used is not None else np.zeros(0, np.int64)
        found[name] = {"clusters": int(np.count_nonzero(counts)), "label_entropy": entropy(counts)}
    return found
