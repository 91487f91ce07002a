"""Weights as a PyTorch state dict in memory."""

from __future__ import annotations

import torch

from cnet.weights import Tensor, Weights


def state_dict(weights: Weights) -> dict[str, torch.Tensor]:
    """A dict from canonical name to tensor in its own element type, on the CPU. Tied names share one tensor.

    The tensors are copies: changing them in place does not change ``weights``.
    """
    own = {tensor.name: _tensor(tensor) for tensor in weights if tensor.name not in weights.copies}
    return {tensor.name: own[weights.copies.get(tensor.name, tensor.name)] for tensor in weights}


def _tensor(tensor: Tensor) -> torch.Tensor:
    bits = torch.from_numpy(tensor.data.copy())
    dtype: torch.dtype = getattr(torch, tensor.dtype)
    return bits if bits.dtype == dtype else bits.view(dtype)
