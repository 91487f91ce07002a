"""One service for all tests of a module that leave it running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from cnet.client import Client
from tests.acceptance.service import Up


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """``cnet up`` in a temporary folder."""
    up = Up.start(tmp_path_factory.mktemp("service") / "data")
    yield up
    up.stop()


@pytest.fixture
def client(service: Up) -> Iterator[Client]:
    """A client of the service."""
    with service.client() as client:
        yield client


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The weights of a small network: matrices, biases, an integer."""
    random = np.random.default_rng(3)
    path = tmp_path / "model.pth"
    save_file(
        {
            "body.weight": random.normal(size=(80, 60)).astype(np.float32),
            "body.bias": random.normal(size=80).astype(np.float32),
            "head.weight": random.normal(size=(10, 80)).astype(np.float16),
            "steps": np.array(7, np.int64),
        },
        path,
    )
    return path
