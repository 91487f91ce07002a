"""Where training runs, in what numeric mode, and what its failures are called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from cnet.errors import TrainingError

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


def choose_device(name: str) -> torch.device:
    """The device for ``auto`` (a GPU where there is one), ``cpu`` or ``cuda``.

    Raises:
        TrainingError: (``no_device``) a GPU is asked for and there is none.

    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise TrainingError(
            "training.device is cuda, but this worker has no CUDA GPU: use auto or cpu, or a worker with a GPU",
            code="no_device",
        )
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def laid_out(module: nn.Module, device: torch.device, precision: str) -> nn.Module:
    """``module`` on ``device``, with its kernels in the order that is fastest there.

    Tensor cores, which a GPU uses for bfloat16, want channels last; elsewhere the usual order is faster.
    """
    if device.type == "cuda" and precision == "bfloat16":
        return module.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
    return module.to(device)


@contextmanager
def numerics() -> Iterator[None]:
    """Deterministic kernels and true float32 within, the former settings after.

    On a GPU ``CUBLAS_WORKSPACE_CONFIG=:4096:8`` has to be in the environment before the process starts, or matrix
    products may differ between runs; torch is told to go on without rather than to fail.
    """
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    cudnn = torch.backends.cudnn
    saved = cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = True, False, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = saved
        torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise TrainingError (``out_of_memory``) where torch or Python runs out of memory."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise _out_of_memory() from error
    except RuntimeError as error:
        if any(words in str(error).lower() for words in _NO_MEMORY):
            raise _out_of_memory() from error
        raise


def _out_of_memory() -> TrainingError:
    return TrainingError(
        "training ran out of memory: use a smaller training.batch_size, training.precision bfloat16, "
        "or a worker with more memory",
        code="out_of_memory",
    )
