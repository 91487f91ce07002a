"""The device and the numeric mode of training, and the report of a device without free memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from cnet.errors import TrainingError

CPU = torch.device("cpu")
_OUT_OF_MEMORY_TEXTS = ("can't allocate memory", "not enough memory", "out of memory")


def choose_device(name: str, gpu_available: bool | None = None) -> torch.device:
    """The device for ``auto`` (a GPU where there is one), ``cpu`` or ``cuda``.

    Args:
        name: the name from the job's training.
        gpu_available: whether there is a CUDA GPU; None asks PyTorch.

    Raises:
        TrainingError: (``no_device``) a GPU is asked for and there is none.

    """
    available = torch.cuda.is_available() if gpu_available is None else gpu_available
    if name == "cuda" and not available:
        raise TrainingError(
            "training.device: cuda is asked for, but this worker has no CUDA GPU. "
            "Use auto or cpu, or a worker with a GPU.",
            code="no_device",
        )
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def place_module(module: nn.Module, device: torch.device, precision: str) -> nn.Module:
    """Move ``module`` to ``device``, with its kernels in the memory order that is fastest there.

    Tensor cores, which a GPU uses for bfloat16, are fastest with channels last; otherwise the usual order is faster.
    """
    if device.type == "cuda" and precision == "bfloat16":
        return module.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
    return module.to(device)


@contextmanager
def deterministic_numerics() -> Iterator[None]:
    """Use deterministic kernels and full float32 precision inside the block, and the former settings after it.

    On a GPU, ``CUBLAS_WORKSPACE_CONFIG=:4096:8`` has to be in the environment before the process starts, or matrix
    products may differ between runs; PyTorch is told to continue without it rather than to fail.
    """
    mode = torch.get_deterministic_debug_mode()
    fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    cudnn = torch.backends.cudnn
    saved = cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32
    torch.set_deterministic_debug_mode("warn")  # use_deterministic_algorithms also imports the compiler, in a second
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = True, False, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = saved
        torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
        torch.set_deterministic_debug_mode(mode)


@contextmanager
def seeded_random(source: torch.Generator, device: torch.device) -> Iterator[None]:
    """Seed PyTorch's own random numbers, from which dropout draws, inside the block, and restore them after it.

    Args:
        source: gives the seed.
        device: on which random numbers are drawn, beside the CPU.
    """
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        # torch.manual_seed also seeds the GPUs that are not in use: for each seed it formats a traceback, which takes
        # longer than a training step of a small network, and keeps it for ever.
        seed = int(torch.randint(2**62, (), generator=source))
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextmanager
def report_out_of_memory() -> Iterator[None]:
    """Raise TrainingError (``out_of_memory``) where PyTorch or Python runs out of memory inside the block."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise _out_of_memory() from error
    except RuntimeError as error:
        if any(text in str(error).lower() for text in _OUT_OF_MEMORY_TEXTS):
            raise _out_of_memory() from error
        raise


def _out_of_memory() -> TrainingError:
    return TrainingError(
        "training: no memory is left on the device. Use a smaller training.batch_size, training.precision bfloat16, "
        "or a worker with more memory.",
        code="out_of_memory",
    )
