"""The quality ``safe`` changes little in networks of every kind, though it sees nothing but their weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cnet.quantize import QUANTIZERS
from tests.unit.cnet.quantize.trained_networks import NETWORKS, digits


@pytest.mark.parametrize("kind", NETWORKS)
def test_safe_changes_two_percent_of_the_predictions_at_most(kind: str) -> None:
    """And a point of accuracy."""
    torch.manual_seed(0)
    module = NETWORKS[kind]()
    _, _, images, labels = digits()
    state = module.state_dict()
    names = [name for name, tensor in state.items() if tensor.ndim > 1]
    vector = np.concatenate([state[name].numpy().reshape(-1) for name in names])
    symbols = QUANTIZERS.create("auto").symbols(vector, vector != 0, None, [tuple(state[name].shape) for name in names])
    with torch.no_grad():
        before = module(images)
        start = 0
        for name in names:
            part = symbols.vector()[start : start + state[name].numel()]
            state[name].copy_(torch.from_numpy(part).reshape(state[name].shape))
            start += len(part)
        after = module(images)

    assert np.any(symbols.vector() != vector)
    assert (before.argmax(-1) != after.argmax(-1)).double().mean() <= 0.02
    if before.ndim == 2:
        right, still = ((logits.argmax(-1) == labels).double().mean() for logits in (before, after))
        assert right > 0.85
        assert right - still <= 0.01
