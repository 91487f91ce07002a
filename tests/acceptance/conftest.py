"""One service for all tests of a process that leave it running.

It is ``cnet up`` in one folder. With ``CNET_TEST_DEPLOYMENT=hosts`` it is an API and a worker that share no folder,
with PostgreSQL, Valkey and S3 between them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from cnet.client import Client
from tests.acceptance.machines import Machines, machines
from tests.acceptance.service import Up
from tests.postgres import Cluster
from tests.s3 import S3Server


@pytest.fixture(scope="session")
def split_service(postgres: Cluster, shared_s3: S3Server) -> Iterator[Machines]:
    """An API and a worker that share no folder."""
    with machines(postgres, shared_s3) as made:
        yield made


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up | Machines]:
    """``cnet up`` in a temporary folder, or the machines that share none."""
    if os.environ.get("CNET_TEST_DEPLOYMENT") == "hosts":
        yield request.getfixturevalue("split_service")
        return
    up = Up.start(tmp_path_factory.mktemp("service") / "data")
    yield up
    up.stop()


@pytest.fixture
def client(service: Up | Machines) -> Iterator[Client]:
    """A client of the service."""
    with service.client() as client:
        yield client


def write_checkpoint(path: Path) -> Path:
    """Write the weights of a small network: matrices, biases, an integer. Returns ``path``."""
    random = np.random.default_rng(3)
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


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The weights of a small network: matrices, biases, an integer."""
    return write_checkpoint(tmp_path / "model.pth")
