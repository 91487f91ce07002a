"""Which candidate to make next: the one of the largest expected gain for its cost.

Bayesian optimization under a constraint (Gardner et al., Bayesian Optimization with Inequality Constraints, ICML
2014). Two quantities are modelled over all candidates from the points made so far: the logarithm of the file's size,
which a forecast tells within some ten percent, and the quality, which nothing tells. One is the goal and the other
the constraint, or the other way round, as the target has it.

Quality is the accuracy lost, on a scale that is linear up to about the limit and logarithmic beyond (asinh), so that
a net that fell apart tells no more than that it did; without accuracies it is the logarithm of the mse.

Candidates are chosen by what was measured alone: the same points lead to the same next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.points import BaselineResult, Point
from cnet.search.forecast import Forecast
from cnet.search.grid import Candidate, Grid
from cnet.search.selection import meets
from cnet.search.surrogate import Floats, Places, Prior, Surrogate
from cnet.spec import Target

Rows = npt.NDArray[np.intp]

_SIZE = Prior(constant=0.2, slopes=(0.05, 0.03), smooth=0.1)
_LOSS = Prior(constant=1.0, slopes=(0.5, 0.3), smooth=2.5)
_ERROR = Prior(constant=0.5, slopes=(0.15, 0.15), smooth=0.4)
_SIZE_NOISE, _LOSS_NOISE, _ERROR_NOISE = 0.01, 0.05, 0.02
_LUCK = 0.5  # noise of a loss, as a part of what chance would give two nets that err independently
_DOUBT = 0.2  # least doubt about a loss, on its scale: what is close to the limit may be on its other side
_LEAST_SCALE = 0.25  # points of accuracy
_ENOUGH = 0.004  # expected gain, as a part of size or of quality's scale, below which the search ends
_HOPELESS = 0.1  # chance of meeting the target below which, where nothing met it so far, only the gentlest is tried
_RUIN = 2.0  # beyond the limit, on the loss' scale: no accident of the training
_OTHER_SCALE = 1.0  # by how many bits quantizers can differ that are equally fine
_FINE = 0.1  # what a unit of the loss' scale is worth, against a unit of the logarithm of an mse


@dataclass(frozen=True)
class Conditions:
    """What a search has to know of its run.

    Attributes:
        baseline: the net before compression.
        forecast: of the grid's candidates.
        images: test images, None without a data set.
        visit: cost of the first point of a sparsity beyond that of a further one, which is 1.
    """

    baseline: BaselineResult
    forecast: Forecast
    images: int | None = None
    visit: float = 0.0


def candidates(grid: Grid, target: Target, conditions: Conditions, points: Sequence[Point]) -> Iterator[Candidate]:
    """The points to make, in order.

    ``points`` is the caller's growing list: each candidate's point must be in it before the next is taken.
    """
    search = Search(grid, target, conditions)
    rows: list[int] = []
    while (row := search.next(rows, points)) is not None:
        rows.append(row)
        yield grid.candidates[row]


@dataclass(frozen=True)
class Search:
    """Proposes one row of the grid after the other."""

    grid: Grid
    target: Target
    conditions: Conditions

    def next(self, rows: Sequence[int], points: Sequence[Point]) -> int | None:
        """The row to make next, or None where the search is over.

        Args:
            rows: made so far.
            points: what came out, in the same order.
        """
        if len(rows) >= self.grid.most_points:
            return None
        seen = np.array(rows, np.intp)
        met = any(meets(self.target, self.conditions.baseline, point) for point in points)
        size, doubt = self._size(seen, points)
        if self.target.max_accuracy_drop is not None:
            gain, chance = self._smaller(seen, points, size)
        else:
            limit = math.log(self._most_bytes())
            gain = np.where(self._dominated(size + doubt <= limit), 0.0, self._better(seen, points))
            chance = _normal((limit - size) / doubt)
        score, cost = self._affordable(gain * chance, seen)
        score[seen] = 0.0
        if score.max() >= _ENOUGH and (met or np.max(chance[score > 0]) >= _HOPELESS):
            return int(np.argmax(score / np.sqrt(cost)))
        last = self._last_resort(size)
        return None if met or last in rows else last

    def _smaller(self, seen: Rows, points: Sequence[Point], size: Floats) -> tuple[Floats, Floats]:
        """How much smaller the file would be than the smallest that loses no more, and the chance that it does not."""
        target, baseline = self.target, self.conditions.baseline
        loss = _Loss.of(baseline, self.conditions.images, target.max_accuracy_drop or 0.0)
        mean, deviation = loss.expected(self.grid.places, seen, points)
        chance = _normal((loss.limit - mean) / np.hypot(deviation, loss.doubt))
        chance[self._beyond(seen[loss.values(points) > loss.limit + _RUIN])] = 0.0
        met = [math.log(point.bytes.total) for point in points if meets(target, baseline, point)]
        best = min(met) if met else float(size.max()) + 0.05
        gain: Floats = np.maximum(best - size, 0.0)
        return gain, chance

    def _better(self, seen: Rows, points: Sequence[Point]) -> Floats:
        """By how much the net is expected to be better than the best that fits."""
        baseline, places = self.conditions.baseline, self.grid.places
        if baseline.accuracy is None:
            values, unit = _errors(points), 1.0
            mean, deviation = self._error(seen, values)
        else:
            loss, unit = _Loss.of(baseline, self.conditions.images, 0.0), _FINE
            values = loss.values(points)
            mean, deviation = loss.expected(places, seen, points)
        met = [value for value, point in zip(values, points, strict=True) if meets(self.target, baseline, point)]
        best = min(met) if met else float(np.max(mean + deviation))
        ahead = (best - mean) / deviation
        density = np.exp(-(ahead**2) / 2) / math.sqrt(2 * math.pi)
        gain: Floats = unit * ((best - mean) * _normal(ahead) + deviation * density)
        return gain

    def _beyond(self, ruined: Rows) -> npt.NDArray[np.bool_]:
        """Which candidates prune no less and are no finer than one that fell apart."""
        places, beyond = self.grid.places, np.zeros(len(self.grid.candidates), np.bool_)
        for row in ruined:
            margin = np.where(places.family == places.family[row], 0.0, _OTHER_SCALE)
            beyond |= (places.halvings >= places.halvings[row]) & (places.bits <= places.bits[row] - margin)
        return beyond

    def _dominated(self, fits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Whether a candidate of the same quantizer with no more zeros and no fewer bits is sure to fit as well."""
        places, dominated = self.grid.places, np.zeros(len(fits), np.bool_)
        for row in np.flatnonzero(fits):
            gentler = (places.halvings[row] <= places.halvings) & (places.bits[row] >= places.bits)
            dominated |= gentler & (places.family[row] == places.family) & (np.arange(len(fits)) != row)
        return dominated

    def _most_bytes(self) -> float:
        ratio = self.target.min_ratio
        return self.conditions.baseline.npz_bytes / ratio if ratio else float(self.target.max_bytes or 1)

    def _size(self, seen: Rows, points: Sequence[Point]) -> tuple[Floats, Floats]:
        """Logarithms of the sizes that are expected, exact where they are known, and their standard deviations."""
        nominal = self.conditions.forecast.sizes
        known = np.array([math.log(point.bytes.total) for point in points], np.float64)
        surrogate = Surrogate(self.grid.places, _SIZE)
        mean, deviation = surrogate.given(seen, known - nominal[seen], np.full(len(seen), _SIZE_NOISE))
        size: Floats = mean + nominal
        size[seen] = known
        return size, np.maximum(deviation, _SIZE_NOISE)

    def _error(self, seen: Rows, values: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each candidate's error."""
        nominal, noise = self.conditions.forecast.errors, np.full(len(seen), _ERROR_NOISE)
        mean, deviation = Surrogate(self.grid.places, _ERROR).given(seen, values - nominal[seen], noise)
        return mean + nominal, deviation

    def _affordable(self, score: Floats, seen: Rows) -> tuple[Floats, Floats]:
        """The scores, 0 where no further sparsity may be visited, and the costs."""
        position = self.grid.position
        visited = np.isin(position, position[seen])
        if len(np.unique(position[seen])) >= self.grid.most_sparsities:
            score = np.where(visited, score, 0.0)
        return score, np.where(visited, 1.0, 1.0 + self.conditions.visit)

    def _last_resort(self, size: Floats) -> int:
        """The candidate that meets the target if any does: the gentlest, or the smallest."""
        if self.target.max_accuracy_drop is None:
            return int(np.argmin(size))
        places = self.grid.places
        return int(np.lexsort((-places.bits, places.halvings))[0])


@dataclass(frozen=True)
class _Loss:
    """Accuracy lost, on the scale of the search.

    Attributes:
        accuracy: of the baseline, percent.
        noise: standard deviation of a loss, in points, from the count of test images.
        scale: where the scale turns from linear to logarithmic, in points.
        limit: the largest loss that is allowed, on the scale.
    """

    accuracy: float
    noise: float
    scale: float
    limit: float

    @classmethod
    def of(cls, baseline: BaselineResult, images: int | None, drop: float) -> _Loss:
        accuracy, count = baseline.accuracy or 0.0, images or 1
        right = accuracy / 100
        noise = 100 * _LUCK * math.sqrt(max(right * (1 - right), 1 / count) / count)
        scale = max(drop, noise, _LEAST_SCALE)
        return cls(accuracy, noise, scale, math.asinh((drop + 1e-9) / scale))

    @property
    def doubt(self) -> float:
        """How far a measurement close to the limit may be off, on the scale."""
        return max(_DOUBT, self.noise / self.scale / math.cosh(self.limit))

    def values(self, points: Sequence[Point]) -> Floats:
        """What the points lost."""
        lost = [self.accuracy - (0.0 if point.accuracy is None else point.accuracy) for point in points]
        values: Floats = np.arcsinh(np.array(lost, np.float64) / self.scale)
        return values

    def expected(self, places: Places, seen: Rows, points: Sequence[Point]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each candidate's loss."""
        values = self.values(points)
        lost = np.abs(np.sinh(values))
        noise = np.maximum(np.arcsinh(lost + self.noise / self.scale) - np.arcsinh(lost), _LOSS_NOISE)
        prior = 0.35 * places.halvings + 0.15 * (places.bits.max() - places.bits) - 2.0
        mean, deviation = Surrogate(places, _LOSS).given(seen, values - prior[seen], noise)
        return mean + prior, deviation


def _errors(points: Sequence[Point]) -> Floats:
    """Logarithms of the points' mse; of none at all something very small."""
    errors = np.array([point.mse for point in points], np.float64)
    logarithms: Floats = np.log(np.maximum(errors, 1e-9 * errors.max(initial=0.0) + 1e-60))
    return logarithms


def _normal(values: Floats) -> Floats:
    """The distribution function of the normal distribution."""
    flat = [0.5 * math.erfc(-value / math.sqrt(2)) for value in values]
    return np.array(flat, np.float64)
