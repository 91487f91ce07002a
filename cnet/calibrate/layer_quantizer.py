"""The choice of a step size and of labels for one tensor after the other.

All tensors share one price: a step size s of a tensor with n weights, whose mean squared error costs g a weight, causes
a divergence of about n g s^2 / 24. The fewest bits for a given divergence of the whole network have g s^2 equal in all
tensors (the bits of n weights fall by n / 2 log2(4) where the step doubles, the divergence rises fourfold). g is the
mean Fisher information of the tensor; its rows and columns have steps of their own where that saves bits
(``axis_steps``). Pruned weights have no errors, and do not count. What error feedback makes up for does not make steps
larger: it is less on inputs from other sources.

Labels follow the trellis of the quantizer ``auto``, whose noise is lower than that of rounding by itself. There are two
ways to let their errors cancel. By the second moments of the inputs is the better one where these tell what other
inputs are like. The other way uses no inputs, and assumes only that they are not centred on zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet.calibrate.axis_steps import AxisSteps
from cnet.calibrate.second_moments import FeedbackFactors, choose_shrinkage, compensated
from cnet.calibrate.sensitivity import TensorFisher
from cnet.calibrate.sequence import LayerInputs
from cnet.calibrate.trellis_feedback import LEAST_COLUMNS, Layer, choose_multiples
from cnet.coding.rates import segments_of
from cnet.quantize.calibrated import ANY_STEP
from cnet.quantize.weights_alone.feedback_trellis import MAX_STEP
from cnet.quantize.weights_alone.label_choice import COARSE, HIGH_RATE, FeedbackChooser, LabelBits

NOISE_OF_STEP = 1 / 12
"""Mean squared error of rounding to multiples of a step size of 1."""

LEAST_FISHER = 1e-3
"""Least mean Fisher information of a tensor, relative to that of all weights: few samples may miss what it does."""

_MEMORY = 3
_MU = 0.2
_TRELLIS_GAIN = 10**-0.1
"""Noise of the trellis relative to that of rounding to its steps."""

_MANTISSA_BITS = 8


@dataclass(eq=False)
class LayerQuantizer:
    """Quantizes tensors one after the other, and keeps their labels.

    Attributes:
        sensitivities: the diagonal of the Fisher information of each tensor along its axes, by name.
        shapes: of all tensors, by name.
        keep: which weights of each may be other than zero, in its shape.
        cost: g s^2 of every tensor.
        mu: price of a bit, relative to the best one.
        feedback: whether errors cancel by the second moments of the inputs.
        largest_step: of each tensor, in root mean squares of its weights.
        labels: of each tensor that was quantized: int32, shape (weights,), multiples of its unit.
        units: of each: half its step size, by which its relative steps are multiplied.
        steps: the relative steps of the rows and columns of each.
    """

    sensitivities: Mapping[str, TensorFisher]
    shapes: Mapping[str, tuple[int, ...]]
    keep: Mapping[str, Tensor]
    cost: float
    mu: float
    feedback: bool = False
    largest_step: float = ANY_STEP
    labels: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    units: dict[str, float] = field(default_factory=dict)
    steps: dict[str, AxisSteps] = field(default_factory=dict)

    @classmethod
    def for_divergence(
        cls,
        divergence: float,
        mu: float,
        sensitivities: Mapping[str, TensorFisher],
        shapes: Mapping[str, tuple[int, ...]],
        keep: Mapping[str, Tensor],
        *,
        feedback: bool = False,
    ) -> LayerQuantizer:
        """The quantizer under which the outputs are expected to diverge by so many nats."""
        weights = sum(int(part.sum()) for part in keep.values())
        cost = 2 * divergence / NOISE_OF_STEP / max(weights, 1)
        return cls(sensitivities, shapes, keep, cost, mu, feedback)

    def __call__(self, name: str, layer: LayerInputs) -> Tensor:
        """The quantized weights of a layer; ``QuantizeLayer``."""
        weights = layer.weight.double()
        made = None
        if self.feedback and weights.shape[-1] >= LEAST_COLUMNS and bool(weights.any()):
            made = self._by_moments(name, weights, layer)
        return (self._by_itself(name, weights) if made is None else made).to(layer.weight.dtype)

    def without_inputs(self, name: str, weight: Tensor) -> Tensor:
        """The quantized values of a tensor whose inputs are not known, of any shape."""
        return self._by_itself(name, weight.double()).to(weight.dtype)

    @cached_property
    def _kept(self) -> dict[str, int]:
        """How many weights of each tensor may be other than zero."""
        return {name: int(keep.sum()) for name, keep in self.keep.items()}

    def _by_moments(self, name: str, weights: Tensor, layer: LayerInputs) -> Tensor | None:
        """The quantized values, float64, shape as ``weights``; None where pruned weights allow no path."""
        steps = self._steps(name, weights)
        halves = (layer.halves[0].scaled(steps), layer.halves[1].scaled(steps))
        shrinkage = choose_shrinkage(halves)
        weights = compensated(weights / steps, halves, shrinkage)
        factors = FeedbackFactors.of((halves[0] + halves[1]).own, shrinkage)
        unit = self._unit(name, weights)
        values = (weights / unit).reshape(-1).cpu().numpy().astype(np.float32)
        keep, shape = self.keep[name].reshape(weights.shape), self.shapes[name]
        bits = LabelBits.of(shape, values, keep.reshape(-1).cpu().numpy()) if self.mu else LabelBits.none(values)
        price = self.mu * _MU * HIGH_RATE * float(factors.harm.mean())
        multiples = choose_multiples(Layer(weights / unit, keep, factors, shape, bits, price), _MEMORY)
        if multiples is None:
            return None
        self.labels[name] = multiples.reshape(-1).cpu().numpy().astype(np.int32)
        self.units[name] = unit
        return multiples * unit * steps

    def _by_itself(self, name: str, weights: Tensor) -> Tensor:
        """The quantized values of a tensor's weights, float64, of any shape, by the weights alone."""
        steps = self._steps(name, weights)
        relative = weights / steps
        unit = self._unit(name, relative)
        shape = self.shapes[name]
        values = (relative / unit).reshape(-1).cpu().numpy().astype(np.float32)
        keep = self.keep[name].reshape(-1).cpu().numpy()
        feedback = len(shape) > 1 and 2 * unit <= COARSE * float(relative.square().mean().sqrt())
        chooser = FeedbackChooser(_MEMORY, self.mu * _MU)
        parts = [
            chooser.multiples(segment, values[segment.place], keep[segment.place], feedback=feedback)
            for segment in segments_of([shape])
        ]
        self.labels[name] = np.concatenate([np.empty(0, np.int32), *parts]).astype(np.int32)
        self.units[name] = unit
        return torch.from_numpy(self.labels[name]).to(weights).reshape(weights.shape) * unit * steps

    def _steps(self, name: str, weights: Tensor) -> Tensor:
        """The relative step of each weight, in the shape of ``weights``."""
        shape = self.shapes[name]
        if name not in self.steps:
            found = AxisSteps.of(self.sensitivities[name], self._kept[name])
            values = weights.reshape(shape).double().cpu().numpy()
            step = min(self._step(name), self.largest_step * self._rms(name, weights))
            self.steps[name] = found.limited(values, step, self.largest_step)
        return torch.from_numpy(self.steps[name].of_weights(shape)).to(weights).reshape(weights.shape)

    def _step(self, name: str, noise: float = 1.0) -> float:
        """The step size at which a tensor has its part of the divergence, where steps make of errors ``noise``."""
        price = self._fisher(name) * noise * _TRELLIS_GAIN
        return math.sqrt(self.cost / price) if price > 0 else math.inf

    def _fisher(self, name: str) -> float:
        """The mean Fisher information of a tensor, not less than a small part of the network's.

        A tensor of which it is 0 has no effect on the output that is looked at, on any of the inputs: it belongs to
        another output, or to a case that the inputs do not show. It counts like the most sensitive tensor.
        """
        mean = self.sensitivities[name].mean
        return max(mean, LEAST_FISHER * self._overall_fisher) if mean else self._largest_fisher

    @cached_property
    def _largest_fisher(self) -> float:
        """The mean Fisher information of the most sensitive tensor."""
        return max((self.sensitivities[name].mean for name in self._kept), default=0.0)

    @cached_property
    def _overall_fisher(self) -> float:
        """The mean Fisher information of all weights that may be other than zero."""
        total = sum(self.sensitivities[name].mean * size for name, size in self._kept.items())
        return total / max(sum(self._kept.values()), 1)

    def _rms(self, name: str, weights: Tensor) -> float:
        """The root mean square of a tensor's weights without those that are pruned."""
        return math.sqrt(float(weights.square().sum()) / max(self._kept[name], 1))

    def _unit(self, name: str, weights: Tensor) -> float:
        """Half the step size at which a tensor has its part of the divergence, with few bits of mantissa.

        Args:
            name: of the tensor.
            weights: divided by their relative steps.
        """
        if not weights.numel():
            return 1.0
        rms, largest = self._rms(name, weights), float(weights.abs().max())
        if rms == 0:
            return 1.0
        step = self._step(name, self.steps[name].noise)
        return short_float(max(min(step, self.largest_step * rms), largest / (MAX_STEP - 2)) / 2)


def short_float(number: float) -> float:
    """A positive number rounded up to a float32 with 8 bits of mantissa, which take few bytes in a bundle."""
    mantissa, exponent = math.frexp(max(number, float(np.finfo(np.float32).tiny)))
    return math.ldexp(math.ceil(mantissa * 2**_MANTISSA_BITS), exponent - _MANTISSA_BITS)
