"""Which candidate to make next: the one with the largest expected gain for its cost.

This is Bayesian optimization under a constraint (Gardner et al., Bayesian Optimization with Inequality Constraints,
ICML 2014). Two quantities are modelled over all candidates from the points made so far: the logarithm of the file's
size, which a forecast predicts within some ten percent, and the quality, which nothing predicts. One is the objective
and the other the constraint; which, depends on the target.

Quality is the accuracy lost, on a scale that is linear up to about the limit and logarithmic beyond it (asinh), so that
a ruined model counts as ruined and its exact accuracy does not matter. Without accuracies quality is the logarithm of
the mean squared error. A target may also limit what has changed in the network (``cnet.search.damage``).

A proposal depends on nothing but the points made so far, so that a resumed search proposes the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.results.points import BaselineResult, Point
from cnet.search.accuracy_loss import AccuracyLoss
from cnet.search.damage import Damage
from cnet.search.forecast import Forecast
from cnet.search.grid import Candidate, CandidateGrid
from cnet.search.selection import meets_target
from cnet.search.surrogate import Floats, Prior, Surrogate
from cnet.spec import Target

Rows = npt.NDArray[np.intp]

_SIZE_PRIOR = Prior(constant=0.2, slopes=(0.05, 0.03), smooth=0.1)
_ERROR_PRIOR = Prior(constant=0.5, slopes=(0.15, 0.15), smooth=0.4)
_SIZE_NOISE, _ERROR_NOISE = 0.01, 0.02
_LEAST_GAIN = 0.004  # the search ends below this expected gain for its cost, relative to size or unit of quality
_LEAST_CHANCE = 0.1  # if nothing met the target and every chance is smaller, only the last resort is tried
_RUIN = 2.0  # a model is ruined if its loss exceeds the limit by so much, on the scale of the loss
_BITS_MARGIN = 1.0  # by how many bits two quantizers can differ that do equal damage
_FINE_BITS = 5.0  # more bits change little: what ruins a model that has so many is its sparsity
_LOSS_UNIT = 0.1  # one unit of the loss's scale is worth so many units of the logarithm of an error


@dataclass(frozen=True)
class SearchInputs:
    """What a search needs to know of its run.

    Attributes:
        baseline: the model before compression.
        forecast: of the grid's candidates.
        choice_samples: number of samples that choices are made on; None without a data set.
        visit_cost: cost of the first point of a sparsity beyond the cost of a further point, which is 1.
    """

    baseline: BaselineResult
    forecast: Forecast
    choice_samples: int | None = None
    visit_cost: float = 0.0


def propose_candidates(
    grid: CandidateGrid, target: Target, inputs: SearchInputs, points: Sequence[Point]
) -> Iterator[Candidate]:
    """The candidates to make, in order.

    ``points`` is the caller's growing list: the point of each candidate must be in it before the next one is taken.
    """
    search = CandidateSearch(grid, target, inputs)
    rows: list[int] = []
    while (row := search.propose(rows, points)) is not None:
        rows.append(row)
        yield grid.candidates[row]


@dataclass(frozen=True)
class CandidateSearch:
    """Proposes one row of a grid after the other."""

    grid: CandidateGrid
    target: Target
    inputs: SearchInputs

    def propose(self, rows: Sequence[int], points: Sequence[Point]) -> int | None:
        """The row to make next; None: the search is over.

        Args:
            rows: that were made so far.
            points: that came of them, in the same order.
        """
        if len(rows) >= self.grid.max_points:
            return None
        made = np.array(rows, np.intp)
        met = any(meets_target(self.target, self.inputs.baseline, point) for point in points)
        size, deviation = self._expect_size(made, points)
        if not self.target.limits_size:
            gain, chance = self._gain_in_size(made, points, size)
        else:
            limit = math.log(self._max_bytes())
            gain = np.where(self._dominated(size + deviation <= limit), 0.0, self._gain_in_quality(made, points))
            chance = _normal_distribution((limit - size) / deviation)
        score, cost = self._price(gain * chance, made)
        score[made] = 0.0
        worth = score / np.sqrt(cost)
        if worth.max() >= _LEAST_GAIN and (met or np.max(chance[score > 0]) >= _LEAST_CHANCE):
            return int(np.argmax(worth))
        last = self._last_resort(size)
        return None if met or last in rows else last

    def _gain_in_size(self, made: Rows, points: Sequence[Point], size: Floats) -> tuple[Floats, Floats]:
        """By how much each candidate is smaller than the best point, and the chance that it loses little enough."""
        target, baseline = self.target, self.inputs.baseline
        loss: AccuracyLoss | Damage | None = Damage.of(target, self.inputs.forecast.errors)
        if loss is None:
            allowed = target.allowed_loss(baseline.quality) or 0.0
            loss = AccuracyLoss.of(baseline, self.inputs.choice_samples, allowed)
        mean, deviation = loss.posterior(self.grid.coordinates, made, points)
        chance = _normal_distribution((loss.limit - mean) / np.hypot(deviation, loss.doubt))
        chance[self._harsher_than(made[loss.of_points(points) > loss.limit + _RUIN])] = 0.0
        met = [math.log(point.bytes.total) for point in points if meets_target(target, baseline, point)]
        best = min(met) if met else float(size.max()) + 0.05
        gain: Floats = np.maximum(best - size, 0.0)
        return gain, chance

    def _gain_in_quality(self, made: Rows, points: Sequence[Point]) -> Floats:
        """By how much each candidate is expected to be better than the best point that meets the target."""
        baseline = self.inputs.baseline
        if baseline.quality is None:
            values, unit = _log_errors(points), 1.0
            mean, deviation = self._expect_error(made, values)
        else:
            loss, unit = AccuracyLoss.of(baseline, self.inputs.choice_samples, 0.0), _LOSS_UNIT
            values = loss.of_points(points)
            mean, deviation = loss.posterior(self.grid.coordinates, made, points)
        met = [value for value, point in zip(values, points, strict=True) if meets_target(self.target, baseline, point)]
        best = min(met) if met else float(np.max(mean + deviation))
        lead = (best - mean) / deviation
        density = np.exp(-(lead**2) / 2) / math.sqrt(2 * math.pi)
        gain: Floats = unit * ((best - mean) * _normal_distribution(lead) + deviation * density)
        return gain

    def _harsher_than(self, ruined: Rows) -> npt.NDArray[np.bool_]:
        """Whether each candidate prunes no less and quantizes no finer than one of ``ruined``, shape (m,).

        Beyond ``_FINE_BITS`` all count as equally fine where the ruined one is pruned.
        """
        at, harsher = self.grid.coordinates, np.zeros(len(self.grid.candidates), np.bool_)
        for row in ruined:
            margin = np.where(at.quantizer == at.quantizer[row], 0.0, _BITS_MARGIN)
            no_finer = at.bits <= at.bits[row] - margin
            if at.halvings[row] > 0 and at.bits[row] >= _FINE_BITS:
                no_finer[:] = True
            harsher |= (at.halvings >= at.halvings[row]) & no_finer
        return harsher

    def _dominated(self, fits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Whether a gentler candidate of the same quantizer is sure to fit too, for each candidate, shape (m,).

        Gentler means no more zeros and no fewer bits.
        """
        at, dominated = self.grid.coordinates, np.zeros(len(fits), np.bool_)
        for row in np.flatnonzero(fits):
            gentler = (at.halvings[row] <= at.halvings) & (at.bits[row] >= at.bits)
            dominated |= gentler & (at.quantizer[row] == at.quantizer) & (np.arange(len(fits)) != row)
        return dominated

    def _max_bytes(self) -> float:
        """The largest size that meets the target."""
        ratio = self.target.min_ratio
        return self.inputs.baseline.npz_bytes / ratio if ratio else float(self.target.max_bytes or 1)

    def _expect_size(self, made: Rows, points: Sequence[Point]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the logarithm of each candidate's size; exact for those that were made."""
        forecast = self.inputs.forecast.sizes
        known = np.array([math.log(point.bytes.total) for point in points], np.float64)
        surrogate = Surrogate(self.grid.coordinates, _SIZE_PRIOR)
        mean, deviation = surrogate.posterior(made, known - forecast[made], np.full(len(made), _SIZE_NOISE))
        size: Floats = mean + forecast
        size[made] = known
        return size, np.maximum(deviation, _SIZE_NOISE)

    def _expect_error(self, made: Rows, values: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the logarithm of each candidate's mean squared error."""
        forecast, noise = self.inputs.forecast.errors, np.full(len(made), _ERROR_NOISE)
        surrogate = Surrogate(self.grid.coordinates, _ERROR_PRIOR)
        mean, deviation = surrogate.posterior(made, values - forecast[made], noise)
        return mean + forecast, deviation

    def _price(self, score: Floats, made: Rows) -> tuple[Floats, Floats]:
        """The scores, 0 where no further sparsity may be visited, and the cost of each candidate."""
        sparsity = self.grid.sparsity_index
        visited = np.isin(sparsity, sparsity[made])
        if len(np.unique(sparsity[made])) >= self.grid.max_sparsities:
            score = np.where(visited, score, 0.0)
        return score, np.where(visited, 1.0, 1.0 + self.inputs.visit_cost)

    def _last_resort(self, size: Floats) -> int:
        """The candidate that meets the target if any does: the gentlest, or the smallest."""
        if self.target.limits_size:
            return int(np.argmin(size))
        coordinates = self.grid.coordinates
        return int(np.lexsort((-coordinates.bits, coordinates.halvings))[0])


def _log_errors(points: Sequence[Point]) -> Floats:
    """Logarithms of the points' mean squared errors; an error of 0 counts as very small."""
    errors = np.array([point.mse for point in points], np.float64)
    logarithms: Floats = np.log(np.maximum(errors, 1e-9 * errors.max(initial=0.0) + 1e-60))
    return logarithms


def _normal_distribution(values: Floats) -> Floats:
    """The cumulative distribution function of the standard normal distribution, shape as ``values``, (m,)."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in values], np.float64)
