"""What a search tells while it runs: the candidate that is tried next, how many may follow, and the best so far."""

from __future__ import annotations

from collections.abc import Sequence

from cnet.results.baseline import score_text
from cnet.results.points import BaselineResult, Point
from cnet.search.grid import Candidate, CandidateGrid
from cnet.search.selection import best_that_meets
from cnet.spec import Target


def tell_beginning(grid: CandidateGrid) -> str:
    """How much a search may do: ``search: 1,054 candidates; at most 60 are tried, of at most 12 sparsities...``."""
    return (
        f"search: {len(grid.candidates):,} candidates; at most {grid.max_points} are tried, of at most "
        f"{grid.max_sparsities} sparsities, each of which is trained anew where the job trains. It usually ends sooner"
    )


def tell_next(
    grid: CandidateGrid, candidate: Candidate, target: Target, baseline: BaselineResult, points: Sequence[Point]
) -> str:
    """The candidate that a search tries next, how many may follow it, and the best point so far.

    Args:
        grid: of the search.
        candidate: that is tried next.
        target: of the job.
        baseline: the network before compression.
        points: that were made so far.
    """
    left = grid.max_points - len(points) - 1
    fine = f"{candidate.bits:.2g} bits" if candidate.clusters is None else f"{candidate.clusters} clusters"
    tried = f"sparsity {candidate.sparsity:g}, {candidate.quantizer.name} with {fine}"
    return f"search: candidate {len(points) + 1}: {tried}; at most {left} more; {_best(target, baseline, points)}"


def tell_end(target: Target, baseline: BaselineResult, points: Sequence[Point]) -> str:
    """How many candidates a search has tried, and the best of them."""
    sparsities = len({point.sparsity_requested for point in points})
    best = _best(target, baseline, points)
    return f"search: ended after {len(points)} candidates of {sparsities} sparsities; {best}"


def _best(target: Target, baseline: BaselineResult, points: Sequence[Point]) -> str:
    best = best_that_meets(target, baseline, points)
    if best is None:
        return "none meets the target so far" if points else "none is tried so far"
    return f"best so far: point {best.index}, {best.ratio:.2f} times smaller{score_text(best)}"
