"""Points as rows of tables: means over seeds, compared with the baseline of the same seed and machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks.paper.results import Record, Results

PAPERS_WAY = ("sparsity", "quantized", "clusters", "ramp", "high", "rivals-one-shot")
"""Groups of points made as in the paper: no training after pruning, npz."""


@dataclass(frozen=True)
class Row:
    """One point, or the mean of the points of all seeds.

    Attributes:
        group, label: as in ``Job``.
        coder: how it was quantized and encoded, the last part of the job's name.
        sparsity, clusters: as requested.
        epochs: passes over the training images after the baseline.
        accuracy: of the decoded network, in percent.
        before: accuracy before quantizing, in percent.
        drop: points of accuracy below the baseline of its seed and machine.
        bytes: size of the whole bundle.
        ratio: npz of the original divided by the bundle.
        ratio_weights: npz of the compressible tensors divided by mask, labels and centroids, as in the paper.
        entropy: bits per label; None where there are no labels.
        seeds: number of seeds.
        zero_cluster: bytes of table 5, where they were measured.
    """

    group: str
    label: str
    coder: str
    sparsity: float
    clusters: int | None
    epochs: int
    accuracy: float
    before: float
    drop: float
    bytes: float
    ratio: float
    ratio_weights: float
    entropy: float | None
    seeds: int
    zero_cluster: dict[str, float] | None = None

    @property
    def papers_way(self) -> bool:
        """Whether the point was made as in the paper."""
        return self.group in PAPERS_WAY


@dataclass(frozen=True)
class Base:
    """The network before compression; means over seeds and machines.

    Attributes:
        accuracy: in percent.
        npz: bytes of ``numpy.savez_compressed`` of all tensors.
        machines: accuracy by the name of the machine.
    """

    accuracy: float
    npz: float
    machines: dict[str, float]


def base(results: Results) -> Base | None:
    """The baseline, or None before it is trained."""
    found = results.baselines
    if not found:
        return None
    machines = {
        name: fmean(numbers["accuracy"] for (_, machine), numbers in found.items() if machine == name)
        for _, name in found
    }
    return Base(_mean(list(found.values()), "accuracy"), _mean(list(found.values()), "npz_bytes"), machines)


def rows(results: Results) -> list[Row]:
    """All points as rows, in the order in which they were made; points that differ only in the seed make one row."""
    same: dict[tuple[Any, ...], list[tuple[Record, Record]]] = defaultdict(list)
    for record in results.points:
        own = _own(results.baselines, record)
        if own is not None:
            way = record["job"].partition("/")[2]
            same[way, record["label"], record["point"]["index"]].append((record, own))
    return [_row(pairs) for pairs in same.values()]


def _own(baselines: dict[tuple[int, str], Record], record: Record) -> Record | None:
    """The baseline of the point's seed: its machine's, or where it has none the one that was carried there."""
    others = (numbers for (seed, _), numbers in baselines.items() if seed == record["seed"])
    return baselines.get((record["seed"], record["machine"])) or next(others, None)


def pick(all_rows: Iterable[Row], group: str, label: str | None = None) -> list[Row]:
    """The rows of a group, and of a label where one is given."""
    return [row for row in all_rows if row.group == group and label in (None, row.label)]


def at(all_rows: Iterable[Row], sparsity: float) -> Row | None:
    """The first row of a sparsity, or None."""
    return next((row for row in all_rows if abs(row.sparsity - sparsity) < 1e-9), None)


def _row(records: Sequence[tuple[Record, Record]]) -> Row:
    """The row of some points and their baselines."""
    first, points = records[0][0], [record["point"] for record, _ in records]
    sizes = [(record["point"]["bytes"], own) for record, own in records]
    weights = [own["compressible_npz_bytes"] / (s["mask"] + s["labels"] + s["centroids"]) for s, own in sizes]
    zeros = [record["zero_cluster"] for record, _ in records if "zero_cluster" in record]
    return Row(
        group=first["group"],
        label=first["label"],
        coder=first["job"].rpartition("/")[2],
        sparsity=points[0]["sparsity_requested"] if first["group"] not in ("ours", "rivals") else _cut(first),
        clusters=points[0]["clusters_requested"],
        epochs=first["epochs"],
        accuracy=_mean(points, "accuracy"),
        before=_mean(points, "accuracy_before_quantize"),
        drop=fmean(own["accuracy"] - record["point"]["accuracy"] for record, own in records),
        bytes=fmean(size["total"] for size, _ in sizes),
        ratio=fmean(own["npz_bytes"] / size["total"] for size, own in sizes),
        ratio_weights=fmean(weights),
        entropy=None if points[0]["label_entropy"] is None else _mean(points, "label_entropy"),
        seeds=len(records),
        zero_cluster={key: _mean(zeros, key) for key in zeros[0]} if zeros else None,
    )


def _cut(record: Record) -> float:
    """The sparsity of the pruned network, which is in the name of the job."""
    return float(record["job"].split("/")[3])


def _mean(documents: Sequence[dict[str, Any]], key: str) -> float:
    return fmean(document[key] for document in documents)
