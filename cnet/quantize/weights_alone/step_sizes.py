"""Step sizes of all tensors from their shapes and scales alone, for a given signal-to-noise ratio of the network.

Noise in a tensor changes the outputs about in proportion to its power relative to the tensor's own. At many bits a
weight, the fewest bits for the least change therefore have a relative noise in proportion to the number of weights:
a tensor of few weights is cheap to store finely. What is measured on real networks bends this a little: the exponent
of the size is smaller, and noise matters less where a tensor has many rows, because the next layer averages over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cnet.quantize.weights_alone.tensor_scales import TensorScale

SIZE_EXPONENT = 0.45
"""Of the step size relative to the root mean square, in the number of weights."""

ROW_EXPONENT = 0.25
"""Likewise, in the number of rows."""

NOISE_OF_STEP = 1 / 12
"""Mean squared error of rounding to multiples of a step size of 1."""


def step_sizes(scales: Sequence[TensorScale], snr_db: float) -> npt.NDArray[np.float64]:
    """The step size of each tensor: float64, shape (tensors,), 0 where a tensor has no non-zero weight.

    The first and the last tensor are never quantized more coarsely than the average weight.

    Args:
        scales: of the tensors, in the order of w_net.
        snr_db: signal-to-noise ratio in dB that rounding to these steps would have: each tensor's noise relative to
            its own power, averaged over all weights.
    """
    sizes = np.array([scale.size if scale.rms else 0 for scale in scales], np.float64)
    if not sizes.any():
        return np.zeros(len(scales))
    noise = 10.0 ** (-snr_db / 10)
    relative = np.array([_tolerance(scale.shape) for scale in scales])
    ends = [0, len(scales) - 1]
    average = math.sqrt(float(np.average(relative**2, weights=sizes)))
    relative[ends] = np.minimum(relative[ends], average)
    average = math.sqrt(float(np.average(relative**2, weights=sizes)))
    rms = np.array([scale.rms for scale in scales])
    steps: npt.NDArray[np.float64] = relative / average * math.sqrt(noise / NOISE_OF_STEP) * rms
    return steps


def _tolerance(shape: tuple[int, ...]) -> float:
    """The relative step size of a tensor, up to a factor that is the same for all tensors of a network."""
    rows = shape[0] if len(shape) > 1 else 1
    return float(math.prod(shape) ** SIZE_EXPONENT * rows**ROW_EXPONENT)
