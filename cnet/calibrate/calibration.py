"""The interface of this package: a network, its calibration inputs, and weights quantized by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet import dtypes
from cnet.calibrate.axis_steps import AxisSteps
from cnet.calibrate.config import few_samples
from cnet.calibrate.layer_quantizer import LayerQuantizer
from cnet.calibrate.network import NetworkOnInputs, OnFraction
from cnet.calibrate.observation import Observation, observe
from cnet.calibrate.samples import Samples, in_alike_halves, in_batches, unlike_halves
from cnet.calibrate.sensitivity import TensorFisher, fisher_by_axis
from cnet.calibrate.sequence import LayerInputs, quantize_in_sequence
from cnet.coding import ENCODERS
from cnet.coding.uniform_grid import label_integers
from cnet.observer import check_stop
from cnet.quantize.calibrated import ANY_STEP
from cnet.reconstruction import AxisScales, Scales, sides_of, tensor_sizes
from cnet.symbols import Symbols
from cnet.training.device import deterministic_numerics, report_out_of_memory
from cnet.training.networks.loaded import LoadedNetwork
from cnet.weights import Weights

Mask = npt.NDArray[np.bool_]
Sensitivities = Mapping[str, TensorFisher]

_FISHER_SAMPLES = 128
_LEAST_LOSS = 1e-9
"""Smaller divergences are rounding errors of the outputs."""


def _ignore_fraction(fraction: float) -> None:
    del fraction


@dataclass(frozen=True)
class Quantizing:
    """How fine to quantize.

    Attributes:
        divergence: expected divergence of the outputs from the original's, in nats.
        mu: price of a bit, relative to the best one.
        correct: whether biases and running means take up mean changes.
        largest_step: of each tensor, in root mean squares of its weights. A network that is sure of all calibration
            inputs shows little of what errors do to others, so that the divergence alone would allow too large steps.
        feedback: whether labels by error feedback are tried as well, where there are inputs to judge them on.
    """

    divergence: float
    mu: float = 1.0
    correct: bool = True
    largest_step: float = ANY_STEP
    feedback: bool = False


@dataclass(frozen=True, eq=False)
class Calibration(NetworkOnInputs):
    """Quantizes the weights of one network by unlabelled inputs. Nothing is trained.

    The same network, inputs and settings give the same bytes on one kind of machine with the same number of threads.
    """

    def warnings(self) -> tuple[str, ...]:
        """Sentences about the inputs that a person should read. Raises DatasetError where they cannot be used."""
        few = few_samples(len(self.split))
        return () if few is None else (few,)

    def sensitivities(self, weights: Weights, on_fraction: OnFraction = _ignore_fraction) -> dict[str, TensorFisher]:
        """How sensitive the outputs are to each compressible tensor, by name; for all points of a network.

        Args:
            weights: of the network. Where it is pruned, the sensitivity is that to the weights that are left.
            on_fraction: told after each sample the done part, 0..1.

        Raises:
            DatasetError: (``wrong_input_shape``) the inputs are not those of the network; both shapes are stated;
                (``constant_inputs``, ``constant_outputs``) they, or what the network gives for them, are all the same.
            TrainingError: (``not_finite``) a layer gives infinite or NaN numbers; (``out_of_memory``).
            ArchitectureMismatchError: the weights are not those of the network.
            StoppedError: the observer asks to stop.
        """
        with deterministic_numerics(), report_out_of_memory():
            loaded = self.load(weights)
            tensors = _tensors(loaded, weights)
            observation = self._observe(loaded, weights)
            if observation.dead:
                self.observer.log(
                    f"warning: calibrate: all inputs of {', '.join(observation.dead)} are 0 on the calibration inputs"
                )
            singles = in_batches(self.split, 1)
            outputs = torch.cat(observation.outputs)
            self.check_differ(outputs)
            rows = unlike_halves(outputs)
            halves = [[singles[row] for row in half.tolist()[: _FISHER_SAMPLES // 2]] for half in rows if len(half)]
            comparison = self.task.comparison(outputs)
            found = fisher_by_axis(loaded.module, tensors, halves, comparison, self.observer, on_fraction)
            unseen = [name for name, fisher in found.items() if not fisher.mean and tensors[name].numel()]
            if unseen:
                self.observer.log(
                    f"warning: calibrate: the output does not depend on {', '.join(unseen)} on the calibration inputs, "
                    "and nothing measures what they lose; they get the smallest step sizes"
                )
            return found

    def quantize(
        self,
        weights: Weights,
        keep: Mask,
        quantizing: Quantizing,
        sensitivities: Sensitivities,
        on_fraction: OnFraction = _ignore_fraction,
    ) -> tuple[Weights, Symbols]:
        """Labels of all compressible tensors, and the weights with corrected biases and running means.

        Args:
            weights: of the network.
            keep: which of w_net may be other than zero: bool, shape (n,).
            quantizing: how fine.
            sensitivities: of the same weights.
            on_fraction: told after each layer the done part, 0..1.

        Raises: as ``sensitivities``.
        """
        with deterministic_numerics(), report_out_of_memory():
            loaded = self.load(weights)
            samples = in_alike_halves(self.split, torch.cat(self._observe(loaded, weights).outputs))
            ways = (False, True) if quantizing.feedback and samples.apart else (False,)
            results = []
            for done, feedback in enumerate(ways):
                layers = self._layer_quantizer(weights, keep, quantizing, sensitivities, feedback=feedback)
                told = partial(_tell_part, on_fraction, done, len(ways))
                results += self._pass(loaded, weights, samples, layers, told, correct=quantizing.correct)
            return self._best(loaded, results, weights, samples.apart or samples.batches)

    def _pass(
        self,
        loaded: LoadedNetwork,
        weights: Weights,
        samples: Samples,
        layers: LayerQuantizer,
        on_fraction: OnFraction,
        *,
        correct: bool,
    ) -> list[tuple[Weights, Symbols]]:
        """What one way of choosing labels gives: with corrections, and without them."""
        tensors = _tensors(loaded, weights)

        def quantize(name: str, layer: LayerInputs) -> Tensor:
            check_stop(self.observer)
            made = layers(name, layer)
            on_fraction(len(layers.labels) / len(tensors))
            return made

        names = {id(tensor): name for name, tensor in loaded.module.state_dict(keep_vars=True).items()}
        names |= {id(tensor): name for name, tensor in tensors.items()}  # of tied names the compressible one
        kept = set(names.values()) - set(tensors)
        passed = quantize_in_sequence(loaded.module, names, samples, quantize, correct=correct, kept=kept)
        for name, tensor in tensors.items():
            if name not in layers.labels:
                layers.without_inputs(name, tensor.detach())
        made = _symbols(layers, weights)
        return [(_corrected(weights, passed.corrections), made), (weights, made)]

    def _observe(self, loaded: LoadedNetwork, weights: Weights) -> Observation:
        check_stop(self.observer)
        names = {id(tensor): name for name, tensor in _tensors(loaded, weights).items()}
        return observe(loaded.module, names, in_batches(self.split))

    def _layer_quantizer(
        self, weights: Weights, keep: Mask, quantizing: Quantizing, sensitivities: Sensitivities, *, feedback: bool
    ) -> LayerQuantizer:
        shapes = {name: weights[name].shape for name in weights.compressible}
        device = self.split.device
        kept = {
            name: torch.from_numpy(np.ascontiguousarray(keep[part])).to(device).reshape(shapes[name])
            for name, part in weights.slices()
        }
        made = LayerQuantizer.for_divergence(
            quantizing.divergence, quantizing.mu, sensitivities, shapes, kept, feedback=feedback
        )
        return replace(made, largest_step=quantizing.largest_step)

    def _best(
        self,
        loaded: LoadedNetwork,
        results: Sequence[tuple[Weights, Symbols]],
        original: Weights,
        batches: Sequence[tuple[Tensor, ...]],
    ) -> tuple[Weights, Symbols]:
        """The best of the results by their divergence on some samples, and by their bytes.

        A bit more for each weight makes the divergence four times as small. This is the rate at which bytes count.
        """

        def outputs(weights: Weights) -> Tensor:
            check_stop(self.observer)
            loaded.load(weights)
            with torch.no_grad():
                return torch.cat([loaded.module(*batch).float() for batch in batches])

        before = outputs(original)
        comparison = self.task.comparison(before)
        sizes = {key: coded_bits(symbols, original) for key, symbols in {id(each): each for _, each in results}.items()}
        costs: list[float] = []
        for weights, symbols in results:
            loss = float(comparison.divergence(outputs(weights.with_vector(symbols.vector())), before))
            bits = sizes[id(symbols)] / max(original.compressible_parameters, 1)
            costs.append(math.log(max(loss, _LEAST_LOSS)) + math.log(4) * bits)
        return results[int(np.argmin(costs))]


def _tell_part(on_fraction: OnFraction, done: int, parts: int, fraction: float) -> None:
    """Tell the fraction of all parts that is done, with ``done`` parts before the present one."""
    on_fraction((done + fraction) / parts)


def coded_bits(symbols: Symbols, weights: Weights) -> int:
    """Number of bits that the encoder ``compact`` makes of the symbols."""
    shapes = [weights[name].shape for name in weights.compressible]
    streams, _ = ENCODERS.create("compact").encode(symbols, shapes)
    return 8 * sum(stream.nbytes for stream in streams.values())


def _corrected(weights: Weights, corrections: Mapping[str, Tensor]) -> Weights:
    """The weights with new values of biases and running means, by name."""
    names = {tensor.name for tensor in weights} - set(weights.compressible)
    return weights.with_arrays(
        {
            name: dtypes.narrow(values.double().cpu().numpy(), weights[name].dtype)
            for name, values in corrections.items()
            if name in names
        }
    )


def _tensors(loaded: LoadedNetwork, weights: Weights) -> dict[str, Tensor]:
    """The module's compressible tensors by name."""
    return dict(zip(weights.compressible, loaded.compressible_tensors(), strict=True))


def _symbols(layers: LayerQuantizer, weights: Weights) -> Symbols:
    """The symbols of w_net from the labels and steps of its tensors."""
    dtype = weights.vector().dtype
    names = [name for name in weights.compressible if math.prod(weights[name].shape)]
    shapes = [weights[name].shape for name in names]
    multiples = np.concatenate([np.empty(0, np.int32), *(layers.labels[name] for name in names)])
    labels, used = label_integers(multiples[multiples != 0])
    units = [layers.units[name] for name in names]
    scales: Scales | AxisScales | None = None
    if any(layers.steps[name].differ for name in names):
        factors = [_factors_of(layers.units[name], layers.steps[name], weights[name].shape) for name in names]
        scales = AxisScales(np.concatenate(factors).astype(dtype), sides_of(shapes))
    elif names:
        scales = Scales(np.array(units, dtype), tensor_sizes(shapes))
    return Symbols(multiples != 0, labels, used.astype(dtype), scales)


def _factors_of(unit: float, steps: AxisSteps, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The factors of a tensor as ``AxisScales`` has them."""
    axes = [steps.rows, steps.columns] if len(shape) > 1 else []
    return np.concatenate([np.array([unit]), *axes])
