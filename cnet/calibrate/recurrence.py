"""Recurrent layers: the inputs of each of their weights, which one operation hides.

An LSTM or GRU of several layers and directions is one operation with a list of weights. It is taken apart here into
single layers and directions. Each has two weights: one multiplies the inputs of the layer, the other its hidden states,
which are those of the network whose first weight is quantized already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cnet.calibrate.lockstep import Call
from cnet.calibrate.weight_uses import operation_name

QuantizeMatrix = Callable[[Tensor, Sequence[Tensor], Sequence[Tensor]], Tensor]
"""From a weight and the vectors that it multiplies, for each batch in both networks, to the quantized weight."""

_OPERATIONS: dict[str, Callable[..., Any]] = {"lstm": torch.lstm, "gru": torch.gru}
_WEIGHTS = 2  # of each layer and direction; biases follow them


def recurrent_weights(function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Tensor]:
    """All weights and biases of a recurrent layer, where its form is known; otherwise none.

    Args:
        function: a PyTorch function.
        args: its positional arguments.
    """
    if operation_name(function) not in _OPERATIONS or len(args) != len(_Settings.NAMES):
        return ()
    settings = _Settings.of(args)
    parameters: Sequence[Tensor] = args[2] if isinstance(args[2], Sequence) else ()
    return parameters if len(parameters) == settings.parts * settings.parameters else ()  # others have projections


@dataclass(frozen=True)
class _Settings:
    """The settings of a recurrent layer."""

    NAMES = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")

    biases: bool
    layers: int
    directions: int
    batch_first: bool

    @classmethod
    def of(cls, args: Sequence[Any]) -> _Settings:
        return cls(bool(args[3]), int(args[4]), 1 + bool(args[7]), bool(args[8]))

    @property
    def parts(self) -> int:
        """Number of layers times directions."""
        return self.layers * self.directions

    @property
    def parameters(self) -> int:
        """Number of weights and biases of each part."""
        return 2 * _WEIGHTS if self.biases else _WEIGHTS


def quantize_recurrence(
    original: Sequence[Call], quantized: Sequence[Call], quantize: QuantizeMatrix
) -> dict[int, Tensor]:
    """The quantized weights of a recurrent layer by the ``id`` of the original ones.

    Args:
        original: the calls of all batches in the original network.
        quantized: the same in the quantized one.
        quantize: chooses the values of a weight.
    """
    settings, parameters = _Settings.of(original[0].args), original[0].args[2]
    made: dict[int, Tensor] = {}
    sequences = [[_batch_first(call, settings) for call in calls] for calls in (original, quantized)]
    for layer in range(settings.layers):
        outputs: list[list[list[Tensor]]] = [[], []]
        for direction in range(settings.directions):
            part = layer * settings.directions + direction
            own = parameters[part * settings.parameters : (part + 1) * settings.parameters]
            one, other = ([_turned(each, direction) for each in sequence] for sequence in sequences)
            made[id(own[0])] = quantize(own[0], one, other)
            before = [_run(call, x, own, part) for call, x in zip(original, one, strict=True)]
            half = [made[id(own[0])], *own[1:]]
            after = [_run(call, x, half, part) for call, x in zip(quantized, other, strict=True)]
            made[id(own[1])] = quantize(
                own[1],
                [_states_before(call, y, part) for call, y in zip(original, before, strict=True)],
                [_states_before(call, y, part) for call, y in zip(quantized, after, strict=True)],
            )
            whole = [made[id(own[0])], made[id(own[1])], *own[2:]]
            after = [_run(call, x, whole, part) for call, x in zip(quantized, other, strict=True)]
            for place, found in enumerate((before, after)):
                outputs[place].append([_turned(each, direction) for each in found])
        sequences = [[torch.cat(parts, -1) for parts in zip(*found, strict=True)] for found in outputs]
    return made


def run_with(call: Call, made: dict[int, Tensor]) -> Any:
    """The result of a recurrent layer with quantized weights, in the shapes of the original ones, by their ``id``."""
    args = list(call.args)
    args[2] = [made.get(id(one), one) for one in args[2]]
    return call.run(*args)


def _batch_first(call: Call, settings: _Settings) -> Tensor:
    given: Tensor = call.args[0]
    return given if settings.batch_first else given.transpose(0, 1)


def _turned(sequence: Tensor, direction: int) -> Tensor:
    """A sequence, shape (batch, steps, ...), in the order in which a direction reads it."""
    return sequence.flip(1) if direction else sequence


def _states(call: Call) -> tuple[Tensor, ...]:
    given = call.args[1]
    return (given,) if isinstance(given, Tensor) else tuple(given)


def _run(call: Call, sequence: Tensor, parameters: Sequence[Tensor], part: int) -> Tensor:
    """The hidden states of one layer and direction: shape (batch, steps, size)."""
    name = operation_name(call.function)
    states = tuple(state[part : part + 1].contiguous() for state in _states(call))
    biases = len(parameters) > _WEIGHTS
    first = states if name == "lstm" else states[0]
    found: Tensor = _OPERATIONS[name](sequence.contiguous(), first, list(parameters), *_single_layer(biases=biases))[0]
    return found


def _single_layer(*, biases: bool) -> tuple[bool, int, float, bool, bool, bool]:
    """The arguments after the weights: one layer without dropout, in one direction, the batch first."""
    return biases, 1, 0.0, False, False, True


def _states_before(call: Call, states: Tensor, part: int) -> Tensor:
    """The hidden states that each step multiplies: those of the step before, shape (batch, steps, size)."""
    first = _states(call)[0][part][:, None]
    return torch.cat([first, states[:, :-1]], 1)
