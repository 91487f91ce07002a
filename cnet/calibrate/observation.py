"""One pass of the calibration inputs through the original network: what it gives, and how strong the inputs are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from cnet.calibrate.lockstep import Call, Lockstep
from cnet.calibrate.weight_uses import use_of
from cnet.errors import TrainingError

_VECTORS = 4096


@dataclass(frozen=True, eq=False)
class Observation:
    """What a network does on the calibration inputs.

    Attributes:
        outputs: for each batch.
        powers: mean square of the inputs that each weight multiplies, by name; those of its first use.
    """

    outputs: tuple[Tensor, ...]
    powers: Mapping[str, float]

    @property
    def dead(self) -> tuple[str, ...]:
        """Names of the weights all of whose inputs are 0."""
        return tuple(name for name, power in self.powers.items() if power == 0)


@torch.no_grad()
def observe(module: nn.Module, names: Mapping[int, str], batches: Sequence[tuple[Tensor, ...]]) -> Observation:
    """Run a network on all batches.

    Args:
        module: the network in evaluation mode.
        names: of its tensors by their ``id``.
        batches: its inputs, tensors of shape (batch, ...).

    Raises:
        TrainingError: (``not_finite``) a layer gives infinite or NaN numbers; its name is stated.
    """

    def watches(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        use = use_of(function)
        return use is not None and len(args) > use.weight and id(args[use.weight]) in names

    powers: dict[str, float] = {}
    passes = Lockstep(module, batches, watches)
    for calls in passes:
        _look(calls, names, powers)
    if not all(bool(output.isfinite().all()) for output in passes.outputs):
        raise _not_finite("the network")
    return Observation(tuple(passes.outputs), powers)


def _look(calls: Sequence[Call], names: Mapping[int, str], powers: dict[str, float]) -> None:
    use = use_of(calls[0].function)
    if use is None:
        raise RuntimeError(f"operation {calls[0].function}: it uses no weight. Stop at uses of weights alone.")
    name = names[id(calls[0].args[use.weight])]
    total, count = 0.0, 0
    for number, call in enumerate(calls):
        call.result = call.run()
        if not bool(call.result.isfinite().all()):
            raise _not_finite(f"the layer of {name}")
        vectors = use.inputs(call, -(-_VECTORS // len(calls)), torch.Generator().manual_seed(number))
        total += float(vectors.double().square().sum())
        count += math.prod(vectors.shape)
    powers.setdefault(name, total / max(count, 1))


def _not_finite(what: str) -> TrainingError:
    return TrainingError(
        f"calibrate.inputs: {what} gives infinite or NaN numbers on them. Check the inputs, and preprocess.mean and "
        "preprocess.std.",
        code="not_finite",
    )
