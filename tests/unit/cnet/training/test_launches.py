"""What a training step launches on the device, observed on PyTorch's meta device, which computes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from cnet.methods import METHODS, Method, MethodHooks
from cnet.training.applied_method import AppliedMethod
from cnet.training.loop import EpochTotals
from cnet.training.stage import TrainingStage
from cnet.training.tasks.classification import Classification
from tests.small_training import small_training

META = torch.device("meta")
RECORDABLE = {name: METHODS.create(name) for name in METHODS.names() if METHODS.create(name).hooks().recordable} | {
    "cnet": METHODS.create("cnet", lambda_=0.1),
    "cnet by layers": METHODS.create("cnet", layers={"*": 0.1}),
}


class Spy(TorchDispatchMode):
    """Records each operation, and separately those with a tensor on the CPU among inputs or outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.crossing: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run and record the operation."""
        del types
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, torch.Tensor)]
        self.operations.append(str(func))
        if any(tensor.device != META for tensor in tensors):
            self.crossing.append(str(func))
        return result


def observed(method: Method, layers: int = 1) -> Spy:
    """The operations of one forward and backward pass with so many layers before the last."""
    with META:
        blocks = [nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(layers)]
        module = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(8 * 16, 4))
        x, y = torch.empty(5, 8, 4, 4), torch.empty(5, dtype=torch.int64)
    weights = {name: value for name, value in module.named_parameters() if value.ndim > 1}
    applied = AppliedMethod(TrainingStage("finetune", small_training(), method), module, weights)
    totals = EpochTotals(META)
    with Spy() as spy:
        outputs = applied.forward((x,))
        task = Classification()
        loss = applied.backward(task.loss(outputs, y))
        totals.add(loss, len(y), task.training_total(outputs, y))
    return spy


@pytest.mark.parametrize("name", RECORDABLE)
def test_a_recordable_method_neither_waits_for_the_device_nor_copies_to_it(name: str) -> None:
    """Either would make a step that cannot be recorded."""
    spy = observed(RECORDABLE[name])
    assert spy.operations
    assert spy.crossing == []


def test_a_method_that_copies_to_the_device_is_seen() -> None:
    """The test above can fail."""

    class CopyingHooks(MethodHooks):
        def penalty(self, weights: Any, context: Any) -> torch.Tensor:
            del context
            return next(iter(weights.values())).sum() * torch.tensor([2.0]).to(META).sum()

    class Copying(Method):
        name: str = "copying"

        def hooks(self) -> CopyingHooks:
            return CopyingHooks(self)

    assert observed(Copying()).crossing


def test_the_loss_adds_the_same_few_operations_however_many_tensors_there_are() -> None:
    """Their number does not grow with the network."""
    added = [
        len(observed(RECORDABLE["cnet"], layers).operations) - len(observed(RECORDABLE["none"], layers).operations)
        for layers in (1, 7)
    ]
    assert added[0] == added[1] <= 25
