"""The claims of the paper and of this project, each checked against the rows of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.paper.rows import Row, at, pick
from benchmarks.paper.study import HIGH, STRONGEST
from benchmarks.paper.tables import LABELS, PLAIN, best_at, smallest

NOISE = 0.3
"""Points of accuracy by which two equal networks differ: the standard error of 91 % on 10,000 images."""

FAR = 10.0
"""Loss of accuracy, in points, beyond which a network counts as destroyed by its pruning."""


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        text: the sentence.
        holds: whether it holds; None where it is not measured yet.
        figures: the numbers that decide it.
    """

    text: str
    holds: bool | None
    figures: str

    @property
    def verdict(self) -> str:
        """The column "holds here" of the table."""
        return {True: "yes", False: "**no**", None: "not measured"}[self.holds]


def all_claims(rows: Sequence[Row]) -> list[Claim]:
    """All claims: those of the paper, then ours."""
    return [
        _robustness(rows),
        _entropy(rows),
        _mask(rows),
        _ramp(rows),
        *_sizes(rows),
        _high_sparsity(rows),
    ]


def _robustness(rows: Sequence[Row]) -> Claim:
    text = (
        "Robustness to pruning grows with λ: the accuracy lost at 90 % without recovery falls "
        f"(up to {NOISE} points of noise)."
    )
    losses = []
    for label in LABELS:
        own = pick(rows, "sparsity", label)
        whole, pruned = at(own, 0.0), at(own, 0.9)
        if whole is None or pruned is None:
            return Claim(text, None, "")
        losses.append(whole.accuracy - pruned.accuracy)
    holds = all(after <= before + NOISE for before, after in pairwise(losses))
    return Claim(text, holds, _listed(losses, "points"))


def _entropy(rows: Sequence[Row]) -> Claim:
    text = "The entropy of the labels at 70 % falls with λ."
    found = [row.entropy for label in LABELS if (row := at(pick(rows, "quantized", label), 0.7)) and row.entropy]
    if len(found) < len(LABELS):
        return Claim(text, None, "")
    holds = all(after < before for before, after in pairwise(found))
    return Claim(text, holds, _listed(found, "bits"))


def _listed(values: Sequence[float], unit: str) -> str:
    return ", ".join(f"{value:.2f}" for value in values) + f" {unit} ({', '.join(LABELS)})"


def _mask(rows: Sequence[Row]) -> Claim:
    text = "A separate mask is smaller than a cluster for zero."
    row = at(pick(rows, "quantized", STRONGEST), 0.5)
    if row is None or row.zero_cluster is None:
        return Claim(text, None, "")
    separate, zero = row.zero_cluster["separate_npz"], row.zero_cluster["zero_npz"]
    return Claim(text, separate < zero, f"{separate:,.0f} against {zero:,.0f} bytes of npz")


def _ramp(rows: Sequence[Row]) -> Claim:
    text = (
        f"The ramp reaches a higher sparsity than {STRONGEST}: it loses at most {FAR:g} points up to a higher "
        "sparsity, or is more accurate at 98 %."
    )
    ramp = pick(rows, "ramp")
    fixed = [row for row in pick(rows, "quantized", STRONGEST) if row.sparsity == HIGH[0]]
    fixed += pick(rows, "high", STRONGEST)
    if {row.sparsity for row in ramp} != set(HIGH) or {row.sparsity for row in fixed} != set(HIGH):
        return Claim(text, None, "")
    reached = [_reached(found) for found in (ramp, fixed)]
    figures = f"{100 * reached[0][0]:g} % against {100 * reached[1][0]:g} %; at 98 % "
    return Claim(text, reached[0] > reached[1], f"{figures}{reached[0][1]:.2f} against {reached[1][1]:.2f} %")


def _reached(rows: Sequence[Row]) -> tuple[float, float]:
    """The highest sparsity that loses at most ``FAR`` points (0 for none), and the accuracy at the highest of all."""
    near = [row.sparsity for row in rows if row.drop <= FAR]
    return max(near, default=0.0), max(rows, key=lambda row: row.sparsity).accuracy


def _sizes(rows: Sequence[Row]) -> list[Claim]:
    texts = (
        "Within half a point our smallest file has at most 0.6 of the bytes of plain CNET with the paper's coder.",
        "Within half a point our smallest file is smaller than every rival's.",
        "Within half a point our smallest file is at least 150 times smaller than the original's npz.",
    )
    found = smallest(rows)
    ours = min((row for row in found.values() if row and row.group == "ours"), key=lambda row: row.bytes, default=None)
    rivals = {label: row for label, row in found.items() if row is None or row.group == "rivals"}
    if ours is None or not rivals:
        return [Claim(text, None, "") for text in texts]
    met = {label: row.bytes for label, row in rivals.items() if row is not None}
    next_best = min(met, key=lambda label: met[label], default=None)
    beside = f"{ours.bytes:,.0f} bytes ({ours.label})"
    against = "no rival keeps within half a point" if next_best is None else f"{met[next_best]:,.0f} ({next_best})"
    return [
        _against_plain(texts[0], ours, found.get(PLAIN)),
        Claim(texts[1], all(ours.bytes < size for size in met.values()), f"{beside}; {against}"),
        Claim(texts[2], ours.ratio >= 150, f"{ours.ratio:.1f}"),
    ]


def _against_plain(text: str, ours: Row, plain: Row | None) -> Claim:
    if plain is None:
        return Claim(text, None, "no file of plain CNET keeps within half a point")
    share = ours.bytes / plain.bytes
    return Claim(text, share <= 0.6, f"{share:.2f}: {ours.bytes:,.0f} bytes ({ours.label}) against {plain.bytes:,.0f}")


def _high_sparsity(rows: Sequence[Row]) -> Claim:
    text = "At 98 % our best result loses at most 1 point, while the paper's ramp loses more (15 points in the paper)."
    ours = min((row.drop for row in best_at(rows, 0.98).values() if row.group == "ours"), default=None)
    ramp = at(pick(rows, "ramp"), 0.98)
    if ours is None or ramp is None:
        return Claim(text, None, "")
    return Claim(text, ours <= 1.0 < ramp.drop, f"{ours:.2f} points; the ramp here {ramp.drop:.2f}")
