"""One pass through a network in which each layer is quantized when all samples have come to it.

The samples run through the original and the quantized network side by side. At each operation with a weight the inputs
of all samples are there, in both networks; its labels are chosen from them, and the samples of the quantized network
go on with what the quantized layer gives. Biases, and the running means of batch normalizations, take up the mean
change of each channel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from cnet.calibrate.lockstep import Call, Lockstep
from cnet.calibrate.mean_change import input_means, is_batch_norm, mean_change, run_with_mean, running_mean
from cnet.calibrate.recurrence import quantize_recurrence, recurrent_weights, run_with
from cnet.calibrate.samples import Samples
from cnet.calibrate.second_moments import Moments
from cnet.calibrate.weight_uses import WeightUse, drawn_vectors, use_of

# How many of a layer's inputs its second moments are computed from.
_LEAST_VECTORS, _MOST_VECTORS = 4096, 8192
_VECTORS_PER_COLUMN = 16


@dataclass(frozen=True, eq=False)
class LayerInputs:
    """What is known of the inputs of a weight when it is quantized.

    Attributes:
        weight: the weight as a matrix, shape (groups, rows, columns).
        halves: second moments over the two halves of the samples.
    """

    weight: Tensor
    halves: tuple[Moments, Moments]


QuantizeLayer = Callable[[str, LayerInputs], Tensor]
"""From the name of a weight and its inputs to the quantized matrix, of the same shape and type."""


@dataclass(frozen=True, eq=False)
class QuantizedLayers:
    """What a pass has changed.

    Attributes:
        corrections: new values of biases and running means, by name.
        outputs: of the quantized network, for each batch.
        visited: names of the weights that were quantized, in the order of the pass.
    """

    corrections: Mapping[str, Tensor]
    outputs: tuple[Tensor, ...]
    visited: tuple[str, ...]


@torch.no_grad()
def quantize_in_sequence(
    module: nn.Module,
    names: Mapping[int, str],
    samples: Samples,
    quantize: QuantizeLayer,
    *,
    correct: bool = True,
    kept: Collection[str] = (),
) -> QuantizedLayers:
    """Quantize each weight on the inputs that it has in the quantized network.

    Args:
        module: the original network in evaluation mode; it stays as it is.
        names: of its tensors by their ``id``: weights to quantize, and biases and running means to correct.
        samples: calibration inputs.
        quantize: chooses the quantized values of a weight, at its first use.
        correct: whether biases and running means take up the mean change.
        kept: names of weights that stay as they are.
    """
    return _Pass(module, names, samples, quantize, correct, frozenset(kept)).run()


@dataclass(eq=False)
class _Pass:
    module: nn.Module
    names: Mapping[int, str]
    samples: Samples
    quantize: QuantizeLayer
    correct: bool
    kept: frozenset[str]
    changed: dict[int, Tensor] = field(default_factory=dict)  # tensors of the quantized network by id of the original
    visited: list[str] = field(default_factory=list)
    corrections: dict[str, Tensor] = field(default_factory=dict)

    def run(self) -> QuantizedLayers:
        batches = self.samples.batches
        passes = Lockstep(self.module, [*batches, *batches], self._watches)
        for number, calls in enumerate(passes):
            self._visit(number, calls[: len(batches)], calls[len(batches) :])
        return QuantizedLayers(self.corrections, tuple(passes.outputs[len(batches) :]), tuple(self.visited))

    def _watches(self, function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        use = use_of(function)
        if use is not None:
            return len(args) > use.weight and id(args[use.weight]) in self.names
        if any(id(weight) in self.names for weight in recurrent_weights(function, args)):
            return True
        return self.correct and is_batch_norm(function)

    def _visit(self, number: int, original: Sequence[Call], quantized: Sequence[Call]) -> None:
        use = use_of(original[0].function)
        if use is not None:
            self._quantize(use, number, original, quantized)
        for call in original:
            call.result = call.run()
        if use is not None:
            self._multiply(use, original, quantized)
        elif is_batch_norm(original[0].function):
            self._normalize(original, quantized)
        else:
            self._recur(original, quantized)

    def _quantize(self, use: WeightUse, number: int, original: Sequence[Call], quantized: Sequence[Call]) -> None:
        """Quantize the weight of a layer, unless it is kept or an earlier use of it has done so."""
        weight = original[0].args[use.weight]
        if self.names[id(weight)] in self.kept:
            self.changed[id(weight)] = weight
        if id(weight) in self.changed:
            return

        def drawn(place: int, limit: int) -> tuple[Tensor, ...]:
            seed = number * len(original) + place
            calls = (original[place], quantized[place])
            return tuple(use.inputs(call, limit, torch.Generator().manual_seed(seed)) for call in calls)

        self._choose(weight, use.matrix(weight, original[0]), drawn)

    def _choose(self, weight: Tensor, matrix: Tensor, drawn: Callable[[int, int], tuple[Tensor, ...]]) -> Tensor:
        """Quantize a weight, given as a matrix, on the vectors that it multiplies.

        ``drawn`` gives, for a batch, up to so many vectors in the original and in the quantized network.
        """
        wanted, samples = _VECTORS_PER_COLUMN * matrix.shape[-1], len(self.samples)
        limit = min(max(_LEAST_VECTORS, wanted), _MOST_VECTORS)
        found: list[list[Moments]] = [[], []]
        for place, (batch, second) in enumerate(zip(self.samples.batches, self.samples.second_half, strict=True)):
            one, other = drawn(place, -(-limit * len(batch[0]) // samples))
            found[second].append(Moments.of(one, other))
        halves = tuple(sum(half[1:], half[0]) if half else Moments.none(matrix) for half in found)
        made = self.quantize(self.names[id(weight)], LayerInputs(matrix, (halves[0], halves[1])))
        self.changed[id(weight)] = made.reshape(weight.shape)
        self.visited.append(self.names[id(weight)])
        return self.changed[id(weight)]

    def _recur(self, original: Sequence[Call], quantized: Sequence[Call]) -> None:
        """Quantize the weights of a recurrent layer, and give the quantized network its results."""

        def quantize(weight: Tensor, one: Sequence[Tensor], other: Sequence[Tensor]) -> Tensor:
            if id(weight) in self.changed or self.names.get(id(weight)) in {None, *self.kept}:
                return self.changed.get(id(weight), weight)

            def drawn(place: int, limit: int) -> tuple[Tensor, ...]:
                return tuple(drawn_vectors(vectors[place], limit, place) for vectors in (one, other))

            return self._choose(weight, weight[None], drawn)

        made = quantize_recurrence(original, quantized, quantize)
        for call in quantized:
            call.result = run_with(call, made)

    def _multiply(self, use: WeightUse, original: Sequence[Call], quantized: Sequence[Call]) -> None:
        """Give the quantized network the results of its own layer, with the mean of each channel corrected."""
        weight = original[0].args[use.weight]
        for call in quantized:
            args = list(call.args)
            args[use.weight] = self.changed[id(weight)]
            call.result = call.run(*args)
        bias = original[0].args[use.bias] if len(original[0].args) > use.bias else original[0].kwargs.get("bias")
        if not self.correct or bias is None or id(bias) not in self.names or self.names[id(bias)] in self.corrections:
            return
        change = mean_change(original, quantized, self.samples, lambda call: use.channel_means(call.result))
        self.corrections[self.names[id(bias)]] = (bias.double() - change).to(bias.dtype)
        for call in quantized:
            call.result = call.result - use.by_channel(change, call.result)

    def _normalize(self, original: Sequence[Call], quantized: Sequence[Call]) -> None:
        """Let the running mean of a batch normalization follow the change of its input."""
        mean = running_mean(original[0])
        name = None if mean is None else self.names.get(id(mean))
        if mean is None or name is None:
            for call in quantized:
                call.result = call.run()
            return
        if name not in self.corrections:
            change = mean_change(original, quantized, self.samples, input_means)
            self.corrections[name] = (mean.double() + change).to(mean.dtype)
        for call in quantized:
            call.result = run_with_mean(call, self.corrections[name])
