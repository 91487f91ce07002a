"""Forward passes that stop together."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cnet.calibrate.lockstep import Lockstep
from cnet.calibrate.weight_uses import operation_name


class Net(nn.Module):
    """Two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        """Raises ValueError for inputs that are not finite."""
        hidden = torch.relu(self.one(inputs))
        if not hidden.isfinite().all():
            raise ValueError("hidden values are not finite")
        out: Tensor = self.two(hidden)
        return out


def linear(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call is that of a linear layer."""
    del args
    return operation_name(function) == "linear"


def test_all_batches_stop_at_each_operation_and_go_on_with_its_result() -> None:
    """The outputs are those of the module where each call gets its own result."""
    module, batches = Net(), [(torch.randn(size, 3),) for size in (2, 5, 1)]

    passes = Lockstep(module, batches, linear)
    sizes = []
    for calls in passes:
        sizes.append([len(call.args[0]) for call in calls])
        for call in calls:
            call.result = call.run()

    assert sizes == [[2, 5, 1]] * 2
    for batch, output in zip(batches, passes.outputs, strict=True):
        torch.testing.assert_close(output, module(*batch).detach())


def test_results_can_be_replaced() -> None:
    """What a batch goes on with is what the caller gives."""
    passes = Lockstep(Net(), [(torch.randn(2, 3),)], linear)
    for calls in passes:
        calls[0].result = torch.zeros(2, 4 if calls[0].args[1].shape[0] == 4 else 2)

    assert torch.equal(passes.outputs[0], torch.zeros(2, 2))


def test_an_error_of_the_network_is_raised_and_no_thread_is_left() -> None:
    """It comes out of the iteration, as it is."""
    before = set(threading.enumerate())  # those of other tests may end meanwhile
    batches = [(torch.randn(2, 3),), (torch.full((2, 3), torch.inf),)]

    def run() -> None:
        for calls in Lockstep(Net(), batches, linear):
            for call in calls:
                call.result = call.run()

    with pytest.raises(ValueError, match="hidden values are not finite"):
        run()
    assert set(threading.enumerate()) <= before


def test_an_iteration_that_is_left_early_leaves_no_thread() -> None:
    """The passes end where they stopped."""
    before = set(threading.enumerate())  # those of other tests may end meanwhile

    for _ in Lockstep(Net(), [(torch.randn(2, 3),)] * 3, linear):
        break

    assert set(threading.enumerate()) <= before
