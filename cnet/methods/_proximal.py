"""CNET without data: one proximal step of the compressibility loss on the weights alone.

What is minimised over the compressible weights, each divided by the root mean square of its own tensor, is

    F(v) = λ √n ‖v‖₁/‖v‖₂ + ½ ‖v - v₀‖²,

v₀ being the n weights as they are. √n makes λ mean the same for nets of every size: about the magnitude, in root mean
squares of its tensor, below which a weight goes. A critical point has v = s · soft(v₀, t) with t = λ √n / ‖v‖₂ and
1/s = 1 - λ √n ‖v‖₁/‖v‖₂³ (F's derivative at a weight that is not zero; of those that are zero |v₀| <= t). Where λ
dwarfs the error what is left of it is theorem 1: ‖v‖₁ |v| = ‖v‖₂² or v = 0.

For a given t the best s is 1 + t ‖u‖₁/‖u‖₂², u = soft(v₀, t), and F along these points falls while t ‖v‖₂ < λ √n. So
the steps t ← λ √n / ‖v(t)‖₂ from t = 0, each the proximal step of the l1 norm with the weight that the loss gives it
and then the best scale, climb to the first critical point, never beyond, and F falls with each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import CheckpointError, SpecError
from cnet.weights import Weights

_STEPS = 1000
_CLOSE = 1e-10  # two thresholds that near are one

Wide = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CriticalPoint:
    """Where the steps end: v = scale · soft(v₀, threshold), in root mean squares of each tensor.

    Attributes:
        threshold: weights of no larger magnitude are zero.
        scale: what those left, shrunk by the threshold, are multiplied by; 1 or more.
        objective: F at the start and after each step, falling.
    """

    threshold: float
    scale: float
    objective: tuple[float, ...]


@dataclass(frozen=True)
class _Place:
    """One threshold: u = soft(v₀, t), scaled best."""

    threshold: float
    l1: float
    square: float
    count: int
    error: float  # ‖v - v₀‖², from its parts: ‖v₀‖² - s² ‖u‖²

    @property
    def scale(self) -> float:
        return 1 + self.threshold * self.l1 / self.square

    def objective(self, strength: float) -> float:
        return strength * math.sqrt(self.count) * self.l1 / math.sqrt(self.square) + self.error / 2

    def next(self, strength: float) -> float:
        return strength * math.sqrt(self.count) / (self.scale * math.sqrt(self.square))


def critical_point(weights: Weights, strength: float) -> CriticalPoint:
    """The first critical point of F on the way down from the weights as they are. Computed in float64.

    Args:
        weights: the net; tensors of zeros alone take no part.
        strength: λ, not negative.

    Raises:
        CheckpointError: ``not_finite``, where a compressible weight is NaN or infinite.
        SpecError: λ outweighs every weight: there is no critical point but the net of one weight.
    """
    largest = max((float(np.max(part)) for part in _scaled(weights)), default=0.0)
    if largest == 0 or strength == 0:
        return CriticalPoint(0.0, 1.0, (0.0,))
    place = _at(weights, 0.0)
    objective = [place.objective(strength)]
    for _ in range(_STEPS):
        threshold = place.next(strength)
        if threshold >= largest:
            raise SpecError(
                f"method.lambda: without a data set {strength:g} outweighs every weight of the net; give a smaller one"
            )
        if threshold - place.threshold <= _CLOSE * threshold:
            break
        place = _at(weights, threshold)
        objective.append(place.objective(strength))
    return CriticalPoint(place.threshold, place.scale, tuple(objective))


def thinned(weights: Weights, strength: float) -> Weights:
    """The weights with those at zero that the critical point has at zero; the others keep their values.

    Shrinking is what the others pay so that the l1 norm sends the small ones to zero. Once these are chosen it only
    costs error: of all nets with these zeros the nearest to the given one has its values.

    Raises: as ``critical_point``.
    """
    point = critical_point(weights, strength)
    arrays = {}
    for name in weights.compressible:
        values = weights[name].values()
        magnitudes = np.abs(values.astype(np.float64))
        size = _rms(magnitudes)
        if point.threshold and size:
            gone = magnitudes / size <= point.threshold
            arrays[name] = dtypes.narrow(np.where(gone, values.dtype.type(0), values), weights[name].dtype)
    return weights.with_arrays(arrays)


def _at(weights: Weights, threshold: float) -> _Place:
    l1 = square = given = 0.0
    count = 0
    for part in _scaled(weights):
        left = np.maximum(part - threshold, 0)
        l1 += float(np.sum(left))
        square += float(np.sum(left * left))
        given += float(np.sum(part * part))
        count += len(part)
    scale = 1 + threshold * l1 / square
    return _Place(threshold, l1, square, count, given - scale * scale * square)


def _scaled(weights: Weights) -> Iterator[Wide]:
    """Magnitudes of each compressible tensor in its root mean squares; not of those that are zero."""
    for name in weights.compressible:
        values = np.abs(weights[name].values().astype(np.float64)).reshape(-1)
        size = _rms(values)
        if not np.isfinite(size):
            raise CheckpointError(f"{name} has weights that are NaN or infinite", code="not_finite")
        if size:
            yield values / size


def _rms(values: Wide) -> float:
    """The root mean square, also where squares leave the type's range."""
    top = float(np.max(np.abs(values), initial=0.0))
    return top * float(np.sqrt(np.mean(np.square(values / top)))) if 0 < top < math.inf else top
