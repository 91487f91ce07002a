"""Modules that are compressed on a server."""

from __future__ import annotations

import httpx2
import pytest
import torch

from cnet.errors import DatasetError
from tests.small_program import small_network
from tests.unit.cnet.client.scripted import client_of


def test_data_that_do_not_fit_a_module_are_refused_before_anything_is_uploaded() -> None:
    """No request reaches the server."""
    asked: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(500)

    client, images = client_of(handler), torch.rand(20, 1, 8, 8)

    with pytest.raises(DatasetError, match="labels up to 19, and the network has 10 outputs"):
        client.compress(small_network(), (images, torch.arange(20)))
    assert asked == []
