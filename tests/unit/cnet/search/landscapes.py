"""Made-up nets: what each candidate of a grid would cost and lose. The in-memory twin of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.results.points import BaselineResult, Point
from cnet.search import CandidateGrid, Forecast, SearchInputs, meets_target
from cnet.search.proposal import CandidateSearch
from cnet.spec import Target
from tests.unit.cnet.points_at_hand import a_point

Floats = npt.NDArray[np.float64]

ACCURACY = 97.0
WEIGHTS, OTHERS = 100_000, 1_000


@dataclass(frozen=True, eq=False)
class Landscape:
    """Sizes in bytes, accuracies in percent or None, and mse, each of every candidate of ``grid``."""

    grid: CandidateGrid
    sizes: npt.NDArray[np.int64]
    accuracies: Floats | None
    errors: Floats

    def search_inputs(self, images: int | None = None) -> SearchInputs:
        """What a search knows of it: a forecast that is a tenth off, up or down."""
        off = 0.1 * np.sin(self.grid.coordinates.halvings + self.grid.coordinates.bits / 2)
        forecast = Forecast(np.log(self.sizes) + off, np.log(np.maximum(self.errors, 1e-30)) - 2 * off)
        return SearchInputs(self.baseline, forecast, images, 8.0)

    @property
    def baseline(self) -> BaselineResult:
        """A net of 100,000 weights and 1,000 other parameters."""
        count = WEIGHTS + OTHERS
        accuracy = None if self.accuracies is None else ACCURACY
        return BaselineResult(accuracy, None, 4 * count, int(3.7 * count), int(3.7 * WEIGHTS), count, WEIGHTS)

    def point(self, row: int, index: int) -> Point:
        """What making the candidate gives."""
        accuracy = None if self.accuracies is None else float(self.accuracies[row])
        return a_point(index, int(self.sizes[row]), accuracy, float(self.errors[row]))

    def best(self, target: Target) -> Point | None:
        """What the whole grid finds."""
        points = [self.point(row, row) for row in range(len(self.sizes))]
        met = [point for point in points if meets_target(target, self.baseline, point)]
        if target.max_accuracy_drop is not None:
            return min(met, key=lambda point: point.bytes.total, default=None)
        return min(met, key=lambda p: p.mse if p.accuracy is None else -p.accuracy, default=None)

    def search(self, target: Target, images: int | None = None) -> tuple[list[int], list[Point]]:
        """Rows and points in the order in which the search makes them."""
        search = CandidateSearch(self.grid, target, self.search_inputs(images))
        rows: list[int] = []
        points: list[Point] = []
        while (row := search.propose(rows, points)) is not None:
            assert row not in rows
            rows.append(row)
            points.append(self.point(row, len(points)))
        return rows, points


def sizes(grid: CandidateGrid, fit: float = 0.95) -> npt.NDArray[np.int64]:
    """Sizes of an entropy coder: ``fit`` of what an ideal one takes for the mask and the nominal bits of the labels."""
    kept = np.exp2(-grid.coordinates.halvings)
    mask = _entropy(kept)
    coded = WEIGHTS / 8 * fit * (mask + kept * grid.coordinates.bits)
    return np.rint(4 * OTHERS + 400 + coded).astype(np.int64)


def accuracies(grid: CandidateGrid, halvings: float, bits: float, width: float, noise: Floats) -> Floats:
    """Accuracies that fall off a cliff where weights are halved more than ``halvings`` times or have fewer ``bits``.

    Args:
        grid: of the candidates.
        halvings: where one cliff is.
        bits: where the other is.
        width: how soft they are.
        noise: added to the accuracies, in points, one a candidate.
    """
    pruned = np.logaddexp(0.0, (grid.coordinates.halvings - halvings) / width)
    rounded = np.logaddexp(0.0, (bits - grid.coordinates.bits) / width)
    return np.clip(ACCURACY - 1.5 * (pruned + rounded) ** 1.5 + noise, 0.0, 100.0)


def errors(grid: CandidateGrid) -> Floats:
    """Squared errors of weights of a Laplace distribution of variance 1, pruned and rounded."""
    kept = np.exp2(-grid.coordinates.halvings)
    threshold = -np.log(kept)
    pruned = 1 - kept * (threshold**2 / 2 + threshold + 1)
    return np.maximum(pruned, 0.0) + (1 - pruned) * np.exp2(-2 * grid.coordinates.bits)


def _entropy(share: Floats) -> Floats:
    inside = np.clip(share, 1e-12, 1 - 1e-12)
    bits: Floats = -inside * np.log2(inside) - (1 - inside) * np.log2(1 - inside)
    return bits


def noise_of(images: int, seed: int, grid: CandidateGrid) -> Floats:
    """Accuracies' noise on a test set of so many images: half of what chance alone would make, paired nets agree."""
    share = ACCURACY / 100
    deviation = 50 * math.sqrt(share * (1 - share) / images)
    drawn: Floats = np.random.default_rng(seed).normal(0.0, deviation, len(grid.candidates))
    return drawn
