"""Published ResNet checkpoints fit the architectures of the same name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cnet.data import Dataset
from cnet.models import ARCHITECTURES
from cnet.models.match import check_match
from cnet.training.trainer import Trainer
from cnet.weights import Tensor, Weights
from tests.real_files import real_file


@pytest.mark.real
@pytest.mark.parametrize("file", ["resnet20-12fca82f.th", "resnet32-d509ac18.th"])
def test_published_checkpoint_loads_with_every_key(file: str) -> None:
    """All names and shapes match, and the net computes with the values."""
    content = torch.load(real_file(f"checkpoints/{file}"), map_location="cpu", weights_only=True)
    state = {name.removeprefix("module."): value for name, value in content["state_dict"].items()}
    architecture = ARCHITECTURES.create(file.partition("-")[0])
    check_match(architecture, (3, 32, 32), 10, {name: tuple(value.shape) for name, value in state.items()})
    weights = Weights.select([Tensor(name, "float32", value.numpy()) for name, value in state.items()])
    random = np.random.default_rng(0)
    x, y = random.random((4, 3, 32, 32), dtype=np.float32), np.array([0, 3, 6, 9], np.int64)
    assert np.isfinite(Trainer(architecture, Dataset(x, y, x, y)).evaluate(weights).loss)
