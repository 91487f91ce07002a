"""The choice of a step size and of labels for one tensor after the other.

All tensors share one price: a step size s of a tensor with n weights, whose mean squared error costs g a weight, causes
a divergence of about n g s^2 / 24. The fewest bits for a given divergence of the whole network have g s^2 equal in all
tensors (the bits of n weights fall by n / 2 log2(4) where the step doubles, the divergence rises fourfold). g is the
mean Fisher information of the tensor. What error feedback makes up for does not make steps larger: it is less on inputs
from other sources.

There are two ways to choose labels. Error feedback by the second moments of the inputs is the better one where these
tell what other inputs are like. The trellis of the quantizer ``auto`` uses no inputs, and assumes only that they are
not centred on zero; its noise is lower by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet.calibrate.error_feedback import LARGEST_LABEL, LabelBits, Rounding, choose_labels
from cnet.calibrate.second_moments import FeedbackFactors, choose_shrinkage, compensated
from cnet.calibrate.sequence import LayerInputs
from cnet.coding.rates import segments_of
from cnet.quantize.calibrated import ANY_STEP
from cnet.quantize.weights_alone.label_choice import COARSE, FeedbackChooser

NOISE_OF_STEP = 1 / 12
"""Mean squared error of rounding to multiples of a step size of 1."""

HIGH_RATE = math.log(2) / 6
"""Fall of the squared error for a bit more, in squares of the step size, at many bits a weight."""

LEAST_FISHER = 1e-3
"""Least mean Fisher information of a tensor, relative to that of all weights: few samples may miss what it does."""

_TRELLIS = FeedbackChooser(memory=3, mu=0.2)
_TRELLIS_GAIN = 10**-0.1
"""Noise of the trellis relative to that of rounding to its steps."""

_MANTISSA_BITS = 8


@dataclass(eq=False)
class LayerQuantizer:
    """Quantizes tensors one after the other, and keeps their labels.

    Attributes:
        sensitivities: mean of the diagonal of the Fisher information over each tensor, by name.
        shapes: of all tensors, by name.
        keep: which weights of each may be other than zero, in its shape.
        cost: g s^2 of every tensor.
        mu: price of a bit relative to the slope of error against bits at many bits a weight; of the trellis, which has
            one of its own, only whether bits have a price.
        trellis: whether labels follow a trellis.
        largest_step: of each tensor, in root mean squares of its weights.
        labels: of each tensor that was quantized: int32, shape (weights,), multiples of its unit.
        steps: the unit of each: its step size, along a trellis half of it.
        nearest: the nearest multiples to the weights themselves, in the form of ``labels``.
    """

    sensitivities: Mapping[str, float]
    shapes: Mapping[str, tuple[int, ...]]
    keep: Mapping[str, Tensor]
    cost: float
    mu: float
    trellis: bool = False
    largest_step: float = ANY_STEP
    labels: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)
    nearest: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)

    @classmethod
    def for_divergence(
        cls,
        divergence: float,
        mu: float,
        sensitivities: Mapping[str, float],
        shapes: Mapping[str, tuple[int, ...]],
        keep: Mapping[str, Tensor],
        *,
        trellis: bool = False,
    ) -> LayerQuantizer:
        """The quantizer under which the outputs are expected to diverge by so many nats."""
        weights = sum(math.prod(shape) for shape in shapes.values())
        cost = 2 * divergence / NOISE_OF_STEP / max(weights, 1)
        return cls(sensitivities, shapes, keep, cost, mu, trellis)

    def __call__(self, name: str, layer: LayerInputs) -> Tensor:
        """The quantized weights of a layer; ``QuantizeLayer``."""
        weights = layer.weight.double()
        if self.trellis:
            return self._along_trellis(name, weights).to(layer.weight.dtype)
        shrinkage = choose_shrinkage(layer.halves)
        weights = compensated(weights, layer.halves, shrinkage)
        factors = FeedbackFactors.of((layer.halves[0] + layer.halves[1]).own, shrinkage)
        keep = self.keep[name].reshape(weights.shape)
        made = self._quantized(name, weights, factors, self._fisher(name), keep).to(layer.weight.dtype)
        self.nearest[name] = _integers(_nearest(layer.weight.double(), self.steps[name]) * keep)
        return made

    def without_inputs(self, name: str, weight: Tensor) -> Tensor:
        """The quantized values of a tensor whose inputs are not known, of any shape."""
        if self.trellis:
            return self._along_trellis(name, weight.double()).to(weight.dtype)
        matrix = weight.double().reshape(1, -1, 1)
        factors = FeedbackFactors.none(weight.device)
        keep = self.keep[name].reshape(matrix.shape)
        return self._quantized(name, matrix, factors, self._fisher(name), keep).to(weight.dtype).reshape(weight.shape)

    def _quantized(self, name: str, weights: Tensor, factors: FeedbackFactors, price: float, keep: Tensor) -> Tensor:
        step = self._step(weights, price)
        shape = self.shapes[name]
        bits = None
        if self.mu and weights.numel():
            bits = LabelBits.of(shape, np.abs(_integers(_nearest(weights, step) * keep)), weights)
        error = self.mu * HIGH_RATE * step**2 * float(factors.harm.mean())
        labels = choose_labels(weights, Rounding(step, factors, bits, error, keep))
        self.labels[name] = self.nearest[name] = _integers(labels)
        self.steps[name] = step
        return labels * step

    def _along_trellis(self, name: str, weights: Tensor) -> Tensor:
        """The quantized values of a tensor's weights, float64, of any shape."""
        unit = self._step(weights, self._fisher(name) * _TRELLIS_GAIN) / 2
        shape = self.shapes[name]
        values = (weights / unit).reshape(-1).cpu().numpy().astype(np.float32)
        keep = self.keep[name].reshape(-1).cpu().numpy()
        feedback = len(shape) > 1 and 2 * unit <= COARSE * float(weights.square().mean().sqrt())
        chooser = replace(_TRELLIS, mu=_TRELLIS.mu if self.mu else 0.0)
        parts = [
            chooser.multiples(segment, values[segment.place], keep[segment.place], feedback=feedback)
            for segment in segments_of([shape])
        ]
        self.labels[name] = np.concatenate([np.empty(0, np.int32), *parts]).astype(np.int32)
        self.steps[name] = unit
        return torch.from_numpy(self.labels[name]).to(weights).reshape(weights.shape) * unit

    def _fisher(self, name: str) -> float:
        """The mean Fisher information of a tensor, not less than a small part of the network's."""
        sizes = {other: math.prod(self.shapes[other]) for other in self.sensitivities}
        overall = sum(self.sensitivities[other] * size for other, size in sizes.items())
        return max(self.sensitivities[name], LEAST_FISHER * overall / max(sum(sizes.values()), 1))

    def _step(self, weights: Tensor, price: float) -> float:
        """The step size at which ``price`` times its square is the network's cost, with few bits of mantissa."""
        rms, largest = float(weights.square().mean().sqrt()), float(weights.abs().max())
        if rms == 0:
            return 1.0
        step = math.sqrt(self.cost / price) if price > 0 else math.inf
        return short_float(max(min(step, self.largest_step * rms), largest / (LARGEST_LABEL - 2)))


def _nearest(weights: Tensor, step: float) -> Tensor:
    """The nearest multiples, float64 integers, shape as ``weights``."""
    return (weights / step).round().clamp(-LARGEST_LABEL, LARGEST_LABEL)


def _integers(labels: Tensor) -> npt.NDArray[np.int32]:
    """Labels in C order: int32, shape (weights,)."""
    integers: npt.NDArray[np.int32] = labels.reshape(-1).cpu().numpy().astype(np.int32)
    return integers


def short_float(number: float) -> float:
    """A positive number rounded up to a float32 with 8 bits of mantissa, which take few bytes in a bundle."""
    mantissa, exponent = math.frexp(max(number, float(np.finfo(np.float32).tiny)))
    return math.ldexp(math.ceil(mantissa * 2**_MANTISSA_BITS), exponent - _MANTISSA_BITS)
