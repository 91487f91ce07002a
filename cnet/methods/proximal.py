"""CNET without data: one proximal step of the compressibility loss on the weights alone.

The step minimizes, over the compressible weights, each divided by the root mean square of its own tensor,

    F(v) = λ √n ‖v‖₁/‖v‖₂ + ½ ‖v - v₀‖²,

where v₀ holds the n weights as given. √n makes λ mean the same for networks of every size: about the magnitude, in
root mean squares of its tensor, below which a weight becomes zero. A critical point has v = s · soft(v₀, t) with the
threshold t = λ √n / ‖v‖₂ and 1/s = 1 - λ √n ‖v‖₁/‖v‖₂³ (from the derivative of F at a non-zero weight; at a zero,
|v₀| <= t). Where λ outweighs the error, these conditions become those of theorem 1: ‖v‖₁ |v| = ‖v‖₂² or v = 0.

For a given t the best s is 1 + t ‖u‖₁/‖u‖₂² with u = soft(v₀, t), and along these points F falls while t ‖v‖₂ < λ √n.
The iteration t ← λ √n / ‖v(t)‖₂ from t = 0 therefore climbs to the first critical point and never beyond it, and F
falls with each step. Each step is the proximal step of the l1 norm, with the weight that the loss gives to this norm,
followed by the best scale.
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

_MAX_STEPS = 1000
_TOLERANCE = 1e-10  # relative difference of two thresholds at which the iteration ends

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CriticalPoint:
    """Result of the iteration: v = scale · soft(v₀, threshold), in root mean squares of each tensor.

    Attributes:
        threshold: weights of this magnitude or less are zero.
        scale: factor of the other weights after the threshold was subtracted from their magnitudes; 1 or more.
        objective: F at the start and after each step, falling.
    """

    threshold: float
    scale: float
    objective: tuple[float, ...]


@dataclass(frozen=True)
class _Iterate:
    """Sums over u = soft(v₀, threshold) for one threshold; ``error`` is ‖v - v₀‖² = ‖v₀‖² - s² ‖u‖²."""

    threshold: float
    l1: float
    square: float
    count: int
    error: float

    @property
    def scale(self) -> float:
        return 1 + self.threshold * self.l1 / self.square

    def objective(self, strength: float) -> float:
        return strength * math.sqrt(self.count) * self.l1 / math.sqrt(self.square) + self.error / 2

    def next_threshold(self, strength: float) -> float:
        return strength * math.sqrt(self.count) / (self.scale * math.sqrt(self.square))


def critical_point(weights: Weights, strength: float) -> CriticalPoint:
    """The first critical point of F on the way down from the given weights. Computed in float64.

    Args:
        weights: the network; tensors in which every weight is zero are left out.
        strength: λ, not negative.

    Raises:
        CheckpointError: (``not_finite``) a compressible weight is NaN or infinite.
        SpecError: λ is so large that only a network of a single weight would be a critical point.

    """
    largest = max((float(np.max(part)) for part in _scaled_magnitudes(weights)), default=0.0)
    if largest == 0 or strength == 0:
        return CriticalPoint(0.0, 1.0, (0.0,))
    iterate = _iterate(weights, 0.0)
    objective = [iterate.objective(strength)]
    for _ in range(_MAX_STEPS):
        threshold = iterate.next_threshold(strength)
        if threshold >= largest:
            raise SpecError(
                f"method.lambda: without a data set, {strength:g} would set every weight of the network to zero. "
                f"Use a smaller lambda."
            )
        if threshold - iterate.threshold <= _TOLERANCE * threshold:
            break
        iterate = _iterate(weights, threshold)
        objective.append(iterate.objective(strength))
    return CriticalPoint(iterate.threshold, iterate.scale, tuple(objective))


def zero_small_weights(weights: Weights, strength: float) -> Weights:
    """The weights with zeros where the critical point has zeros; the other weights keep their values.

    Shrinking the other weights is only a means of the l1 norm to find the zeros. Once these are chosen it would only
    add error: of all networks with these zeros, the one with the given values is the nearest.

    Args:
        weights: the network.
        strength: λ, not negative.

    Raises:
        CheckpointError, SpecError: as ``critical_point``.

    """
    point = critical_point(weights, strength)
    arrays = {}
    for name in weights.compressible:
        values = weights[name].values()
        magnitudes = np.abs(values.astype(np.float64))
        size = _root_mean_square(magnitudes)
        if point.threshold and size:
            small = magnitudes / size <= point.threshold
            arrays[name] = dtypes.narrow(np.where(small, values.dtype.type(0), values), weights[name].dtype)
    return weights.with_arrays(arrays)


def _iterate(weights: Weights, threshold: float) -> _Iterate:
    l1 = square = given = 0.0
    count = 0
    for part in _scaled_magnitudes(weights):
        left = np.maximum(part - threshold, 0)
        l1 += float(np.sum(left))
        square += float(np.sum(left * left))
        given += float(np.sum(part * part))
        count += len(part)
    scale = 1 + threshold * l1 / square
    return _Iterate(threshold, l1, square, count, given - scale * scale * square)


def _scaled_magnitudes(weights: Weights) -> Iterator[Float64Array]:
    """|w| of each compressible tensor divided by its root mean square, shape (size,); tensors of zeros are left out."""
    for name in weights.compressible:
        values = np.abs(weights[name].values().astype(np.float64)).reshape(-1)
        size = _root_mean_square(values)
        if not np.isfinite(size):
            raise CheckpointError(
                f"tensor {name!r}: some of its {len(values)} weights are NaN or infinite. "
                f"Save the checkpoint from before the training diverged.",
                code="not_finite",
            )
        if size:
            yield values / size


def _root_mean_square(values: Float64Array) -> float:
    """The root mean square, also where the squares would leave the range of float64."""
    top = float(np.max(np.abs(values), initial=0.0))
    return top * float(np.sqrt(np.mean(np.square(values / top)))) if 0 < top < math.inf else top
