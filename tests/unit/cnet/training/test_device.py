"""Where training runs, in which numeric mode, and how running out of memory is reported."""

from __future__ import annotations

import pytest
import torch

from cnet.errors import TrainingError
from cnet.training.device import CPU, choose_device, deterministic_numerics, report_out_of_memory, seeded_random


def test_a_gpu_that_does_not_exist_is_an_error_where_it_is_asked_for_by_name() -> None:
    """Auto chooses the CPU then."""
    with pytest.raises(TrainingError, match="no CUDA GPU") as caught:
        choose_device("cuda", gpu_available=False)
    assert caught.value.code == "no_device"
    assert choose_device("auto", gpu_available=False).type == "cpu"


def test_a_gpu_is_used_unless_the_cpu_is_asked_for() -> None:
    """Choosing a device does not use it."""
    chosen = {name: choose_device(name, gpu_available=True).type for name in ("auto", "cuda", "cpu")}
    assert chosen == {"auto": "cuda", "cuda": "cuda", "cpu": "cpu"}


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError("x"), RuntimeError("DefaultCPUAllocator: can't allocate memory")],
)
def test_running_out_of_memory_is_an_error_with_advice(error: Exception) -> None:
    """Each of the three errors that report it is translated."""
    with pytest.raises(TrainingError, match="smaller training") as caught, report_out_of_memory():
        raise error
    assert caught.value.code == "out_of_memory"


def test_other_runtime_errors_pass_through() -> None:
    """Only errors about memory are translated."""
    with pytest.raises(RuntimeError, match="shapes"), report_out_of_memory():
        raise RuntimeError("shapes do not fit")


def test_numeric_settings_are_put_back() -> None:
    """The block leaves PyTorch's global settings as they were."""
    before = (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.allow_tf32)
    with deterministic_numerics():
        assert torch.are_deterministic_algorithms_enabled()
    assert (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.allow_tf32) == before


def test_random_numbers_are_seeded_in_a_block_and_go_on_after_it() -> None:
    """The seed alone decides what is drawn inside; outside nothing is changed."""
    before = torch.random.get_rng_state()

    def drawn(seed: int) -> torch.Tensor:
        with seeded_random(torch.Generator().manual_seed(seed), CPU):
            return torch.rand(5)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    seed = int(torch.randint(2**62, (), generator=torch.Generator().manual_seed(1)))
    assert torch.equal(drawn(1), torch.rand(5, generator=torch.Generator().manual_seed(seed)))
