"""The tables of the paper and of its rivals, from the rows of a study. Cells that are not measured yet are a dash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.paper import published
from benchmarks.paper.recipes import METHODS
from benchmarks.paper.rows import Row, at, pick
from benchmarks.paper.study import CLUSTERS, HIGH, LAMBDAS, RIVAL_SPARSITIES, SPARSITIES, STRONGEST

Lines = list[list[str]]
LABELS = ("Original", *(f"CNET {value:g}" for value in LAMBDAS))
NOTHING = "-"
PLAIN = "plain CNET, the paper's coder"
DROP = 0.5


@dataclass(frozen=True)
class Table:
    """A table: its title, a note below the title, and the lines, the first of which names the columns."""

    title: str
    note: str
    lines: Lines


def all_tables(rows: Sequence[Row], *, paper: bool) -> list[Table]:
    """Every table. With ``paper`` the paper's own figures stand beside ours; they are of ResNet-32 on CIFAR-10."""
    return [
        _sparsity(rows),
        _quantization(rows, paper=paper),
        _entropy(rows, paper=paper),
        _clusters(rows, paper=paper),
        _zero_cluster(rows, paper=paper),
        _ramp(rows, paper=paper),
        _sparsest(rows, paper=paper),
        _udnn(rows),
        _smallest(rows),
        _at_98(rows),
    ]


def _sparsity(rows: Sequence[Row]) -> Table:
    lines = [["accuracy / ratio", *(f"{100 * s:g} %" for s in SPARSITIES)]]
    lines += [[label, *_pairs(pick(rows, "sparsity", label), SPARSITIES)] for label in LABELS]
    return Table(
        "1. Effect of sparsity", "The non-zero weights are stored raw, so the ratio comes from the mask alone.", lines
    )


def _quantization(rows: Sequence[Row], *, paper: bool) -> Table:
    sparsities = SPARSITIES[1:]
    lines = [["accuracy / ratio", *(f"{100 * s:g} %" for s in sparsities)]]
    for label in LABELS:
        lines.append([label, *_pairs(pick(rows, "quantized", label), sparsities)])
        if paper:
            lines.append([f"{label} (paper)", *(f"{a:.2f} / {r:.2f}" for a, r in published.QUANTIZED[label])])
    return Table("2. Effect of quantization", "k-means with 256 clusters.", lines)


def _entropy(rows: Sequence[Row], *, paper: bool) -> Table:
    found = [at(pick(rows, "quantized", label), 0.7) for label in LABELS]
    lines = [["bits per label", *LABELS], ["here", *(_number(row.entropy if row else None) for row in found)]]
    if paper:
        lines.append(["paper", *(f"{published.ENTROPY[label]:.2f}" for label in LABELS)])
    return Table("3. Entropy of the labels at 70 %", "", lines)


def _clusters(rows: Sequence[Row], *, paper: bool) -> Table:
    found = {row.clusters: row for row in pick(rows, "clusters")}
    lines = [["accuracy / ratio", *map(str, CLUSTERS)], ["here", *(_pair(found.get(k)) for k in CLUSTERS)]]
    if paper:
        lines.append(["paper", *(f"{a:.2f} / {r:.2f}" for a, r in published.CLUSTERS.values())])
    return Table(f"4. Clusters, {STRONGEST} at 90 %", "", lines)


def _zero_cluster(rows: Sequence[Row], *, paper: bool) -> Table:
    row = at(pick(rows, "quantized", STRONGEST), 0.5)
    sizes = row.zero_cluster if row and row.zero_cluster else {}
    lines = [["bytes", "npz", "compact", *(["ratio in the paper"] if paper else [])]]
    for name, key in (("zero is a cluster", "zero"), ("separate mask", "separate")):
        cells = [f"{sizes[f'{key}_{coder}']:,.0f}" if sizes else NOTHING for coder in ("npz", "compact")]
        lines.append([name, *cells, *([f"{published.ZERO_CLUSTER[name]:.2f}"] if paper else [])])
    return Table(f"5. Mask or cluster for zero, {STRONGEST} at 50 %", "The same weights, encoded in four ways.", lines)


def _ramp(rows: Sequence[Row], *, paper: bool) -> Table:
    lines = [["accuracy / ratio", *(f"{100 * s:g} %" for s in HIGH)]]
    lines.append(["CNET ramp", *_pairs(pick(rows, "ramp"), HIGH)])
    if paper:
        lines.append(["CNET ramp (paper)", *(f"{a:.2f} / {r:.2f}" for a, r in published.RAMP.values())])
    strongest = [*pick(rows, "quantized", STRONGEST), *pick(rows, "high", STRONGEST)]
    lines.append([STRONGEST, *_pairs(strongest, HIGH)])
    return Table("6. A growing λ, at high sparsity", "k-means with 256 clusters.", lines)


def _sparsest(rows: Sequence[Row], *, paper: bool) -> Table:
    lines = [["accuracy", *(f"{100 * s:g} %" for s in RIVAL_SPARSITIES)]]
    for label in (STRONGEST, "CNET ramp", "Targeted Dropout", "Targeted Dropout ramp", "Smallify"):
        groups = ("quantized", "high", "ramp", "rivals-one-shot")
        found = [row for row in rows if row.label == label and row.group in groups]
        own = [at(found, sparsity) for sparsity in RIVAL_SPARSITIES]
        lines.append([label, *(_number(row.accuracy if row else None) for row in own)])
        if paper:
            known = published.RIVALS[label]
            lines.append([f"{label} (paper)", *(_number(known.get(s)) for s in RIVAL_SPARSITIES)])
    note = (
        "The rows of CNET use k-means with 256 clusters, as in the paper; Targeted Dropout is pruned by its own "
        "columns. Its training spares the first and the last tensor, as its authors' does, but the pruning here does "
        "not. That costs it more in a network of four tensors than in theirs."
    )
    return Table("7. Against Targeted Dropout and Smallify, without recovery", note, lines)


def _udnn(rows: Sequence[Row]) -> Table:
    lines = [["method", "sparsity", "coder", "accuracy", "ratio of the weights", "ratio of the bundle"]]
    chosen = [*pick(rows, "ramp"), *(row for row in rows if row.label == "UDNN")]
    lines += [
        [
            row.label,
            f"{100 * row.sparsity:g} %",
            row.coder if row.label == "UDNN" else "k-means 256, npz",
            f"{row.accuracy:.2f}",
            f"{row.ratio_weights:.2f}",
            f"{row.ratio:.2f}",
        ]
        for row in sorted(chosen, key=lambda row: (row.label, row.ratio))
    ]
    note = "" if any(row.label == "UDNN" for row in rows) else "UDNN has not been measured in this run."
    return Table("8. Against universal quantization (UDNN)", note, lines)


def smallest(rows: Iterable[Row]) -> dict[str, Row | None]:
    """The smallest file of each method that loses at most ``DROP`` points; None for a method without one."""
    found: dict[str, Row | None] = {}
    for row in rows:
        label = method(row)
        if label is None:
            continue
        found.setdefault(label, None)
        best = found[label]
        if row.drop <= DROP + 1e-9 and (best is None or row.bytes < best.bytes):
            found[label] = row
    return found


def method(row: Row) -> str | None:
    """The name under which a row competes in tables 9 and 10; None for a row that does not."""
    if row.group in ("rivals", "ours"):
        return f"{row.label}, recovered" if row.label in METHODS and row.label.startswith("CNET") else row.label
    return PLAIN if row.papers_way and row.label.startswith("CNET") and row.group != "sparsity" else None


def _smallest(rows: Sequence[Row]) -> Table:
    lines = [["method", "bytes", "npz / bundle", "accuracy", "lost", "sparsity", "coder", "epochs"]]
    found = smallest(rows)
    for label, row in sorted(found.items(), key=lambda item: item[1].bytes if item[1] else float("inf")):
        cells = [NOTHING] * 7 if row is None else [f"{row.bytes:,.0f}", f"{row.ratio:.1f}", *_how(row)]
        lines.append([f"**{label}**" if row and row.group == "ours" else label, *cells])
    note = (
        f"Bytes of the whole bundle, with biases, batch norm and container, of the smallest file of each method "
        f"that loses at most {DROP} points against its baseline. Ours are in bold."
    )
    return Table("9. The smallest file within half a point", note, lines)


def _how(row: Row) -> list[str]:
    coder = row.coder if row.clusters is None else f"{row.coder}, {row.clusters} clusters"
    coder = "k-means 256, npz" if row.papers_way and row.group != "clusters" else coder
    return [f"{row.accuracy:.2f}", f"{row.drop:.2f}", f"{100 * row.sparsity:g} %", coder, f"{row.epochs}"]


def best_at(rows: Iterable[Row], sparsity: float) -> dict[str, Row]:
    """The most accurate point of each method at a sparsity."""
    found: dict[str, Row] = {}
    for row in rows:
        label = method(row)
        if row.papers_way and row.group != "sparsity":
            label = f"{row.label}, the paper's way" if row.label.startswith("CNET") else f"{row.label}, no recovery"
        if label and abs(row.sparsity - sparsity) < 1e-9 and row.drop < getattr(found.get(label), "drop", 101):
            found[label] = row
    return found


def _at_98(rows: Sequence[Row]) -> Table:
    lines = [["method", "accuracy", "lost", "bytes"]]
    for label, row in sorted(best_at(rows, 0.98).items(), key=lambda item: item[1].drop):
        name = f"**{label}**" if row.group == "ours" else label
        lines.append([name, f"{row.accuracy:.2f}", f"{row.drop:.2f}", f"{row.bytes:,.0f}"])
    return Table("10. Accuracy at 98 % sparsity", "The most accurate file of each method. Ours are in bold.", lines)


def front(rows: Iterable[Row]) -> list[tuple[float, float]]:
    """The Pareto front: (bytes, minus the points lost) of the rows that no smaller file beats, by size."""
    best: list[tuple[float, float]] = []
    for row in sorted(rows, key=lambda row: (row.bytes, row.drop)):
        if not best or -row.drop > best[-1][1]:
            best.append((row.bytes, -row.drop))
    return best


def curves(rows: Sequence[Row], below: float) -> Mapping[str, list[tuple[float, float]]]:
    """The Pareto front of each method, without rows that lose more than ``below`` points."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        label = method(row)
        if label and row.drop <= below:
            groups.setdefault(label, []).append(row)
    order = sorted(groups, key=lambda label: (groups[label][0].group != "ours", label))
    return {label: front(groups[label]) for label in order}


def _pairs(rows: Sequence[Row], sparsities: Iterable[float]) -> list[str]:
    return [_pair(at(rows, sparsity)) for sparsity in sparsities]


def _pair(row: Row | None) -> str:
    return NOTHING if row is None else f"{row.accuracy:.2f} / {row.ratio_weights:.2f}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"
