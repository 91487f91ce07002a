"""The interface of this package: a network, its calibration inputs, and weights quantized by them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet import dtypes
from cnet.calibrate.config import few_samples
from cnet.calibrate.layer_quantizer import LayerQuantizer, Sensitivity
from cnet.calibrate.network import NetworkOnInputs, OnFraction
from cnet.calibrate.observation import Observation, observe
from cnet.calibrate.samples import in_batches, in_halves
from cnet.calibrate.sensitivity import mean_fisher
from cnet.calibrate.sequence import LayerInputs, quantize_in_sequence
from cnet.coding.uniform_grid import label_integers
from cnet.observer import check_stop
from cnet.reconstruction import Scales, tensor_sizes
from cnet.symbols import Symbols
from cnet.training.device import deterministic_numerics, report_out_of_memory
from cnet.training.networks.loaded import LoadedNetwork
from cnet.weights import Weights

Mask = npt.NDArray[np.bool_]
Sensitivities = Mapping[str, Sensitivity]

_FISHER_SAMPLES = 128


def _ignore_fraction(fraction: float) -> None:
    del fraction


@dataclass(frozen=True)
class Quantizing:
    """How fine to quantize.

    Attributes:
        divergence: expected divergence of the outputs from the original's, in nats.
        mu: price of a bit; 1: the slope of error against bits at many bits a weight.
        correct: whether biases and running means take up mean changes.
    """

    divergence: float
    mu: float = 1.0
    correct: bool = True


@dataclass(frozen=True, eq=False)
class Calibration(NetworkOnInputs):
    """Quantizes the weights of one network by unlabelled inputs. Nothing is trained.

    The same network, inputs and settings give the same bytes on one kind of machine with the same number of threads.
    """

    def warnings(self) -> tuple[str, ...]:
        """Sentences about the inputs that a person should read. Raises DatasetError where they cannot be used."""
        few = few_samples(len(self.split))
        return () if few is None else (few,)

    def sensitivities(self, weights: Weights, on_fraction: OnFraction = _ignore_fraction) -> dict[str, Sensitivity]:
        """How sensitive the outputs are to each compressible tensor, by name; for all points of a network.

        Args:
            weights: of the network.
            on_fraction: told after each sample the done part, 0..1.

        Raises:
            DatasetError: (``wrong_input_shape``) the inputs are not those of the network; both shapes are stated;
                (``constant_inputs``) they are all the same.
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
            singles = in_batches(self.split, 1)[:_FISHER_SAMPLES]
            fisher = mean_fisher(loaded.module, tensors, singles, self.task, self.observer, on_fraction)
            return {name: Sensitivity(fisher[name], observation.powers.get(name, 0.0)) for name in tensors}

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
            sensitivities: of the same weights, before or after pruning.
            on_fraction: told after each layer the done part, 0..1.

        Raises: as ``sensitivities``.
        """
        with deterministic_numerics(), report_out_of_memory():
            loaded = self.load(weights)
            tensors = _tensors(loaded, weights)
            samples = in_halves(self.split, torch.cat(self._observe(loaded, weights).outputs))
            layers = self._layer_quantizer(weights, keep, quantizing, sensitivities)

            def quantize(name: str, layer: LayerInputs) -> Tensor:
                check_stop(self.observer)
                made = layers(name, layer)
                on_fraction(len(layers.labels) / len(tensors))
                return made

            names = {id(tensor): name for name, tensor in loaded.module.state_dict(keep_vars=True).items()}
            passed = quantize_in_sequence(loaded.module, names, samples, quantize, correct=quantizing.correct)
            for name, tensor in tensors.items():
                if name not in layers.labels:
                    layers.without_inputs(name, tensor.detach())
            symbols = _symbols(layers, weights)
            return self._corrected(weights, symbols, passed.corrections, loaded), symbols

    def _observe(self, loaded: LoadedNetwork, weights: Weights) -> Observation:
        check_stop(self.observer)
        names = {id(tensor): name for name, tensor in _tensors(loaded, weights).items()}
        return observe(loaded.module, names, in_batches(self.split))

    def _layer_quantizer(
        self, weights: Weights, keep: Mask, quantizing: Quantizing, sensitivities: Sensitivities
    ) -> LayerQuantizer:
        shapes = {name: weights[name].shape for name in weights.compressible}
        device = self.split.device
        kept = {
            name: torch.from_numpy(np.ascontiguousarray(keep[part])).to(device).reshape(shapes[name])
            for name, part in weights.slices()
        }
        return LayerQuantizer.for_divergence(quantizing.divergence, quantizing.mu, sensitivities, shapes, kept)

    def _corrected(
        self,
        weights: Weights,
        symbols: Symbols,
        corrections: Mapping[str, Tensor],
        loaded: LoadedNetwork,
    ) -> Weights:
        """The weights with the corrections, where these bring the outputs nearer to the original's."""
        names = {tensor.name for tensor in weights} - set(weights.compressible)
        arrays = {
            name: dtypes.narrow(values.cpu().numpy(), weights[name].dtype)
            for name, values in corrections.items()
            if name in names
        }
        if not arrays:
            return weights
        corrected = weights.with_arrays(arrays)
        before = self.outputs(loaded, weights)
        found = [
            float(self.task.soft_loss(self.outputs(loaded, each.with_vector(symbols.vector())), before, 1.0))
            for each in (weights, corrected)
        ]
        return corrected if found[1] < found[0] else weights


def _tensors(loaded: LoadedNetwork, weights: Weights) -> dict[str, Tensor]:
    """The module's compressible tensors by name."""
    return dict(zip(weights.compressible, loaded.compressible_tensors(), strict=True))


def _symbols(layers: LayerQuantizer, weights: Weights) -> Symbols:
    dtype = weights.vector().dtype
    shapes = [weights[name].shape for name in weights.compressible]
    multiples = np.concatenate([np.empty(0, np.int32), *(layers.labels[name] for name in weights.compressible)])
    steps = [layers.steps[name] for name in weights.compressible if math.prod(weights[name].shape)]
    labels, used = label_integers(multiples[multiples != 0])
    scales = Scales(np.array(steps, dtype), tensor_sizes(shapes)) if steps else None
    return Symbols(multiples != 0, labels, used.astype(dtype), scales)
