"""Checkpoints in several files."""

from __future__ import annotations

import pytest

from cnet.errors import CheckpointError
from cnet.formats.shards import refuse_lone_shard


@pytest.mark.parametrize("name", ["model-00001-of-00002.safetensors", "pytorch_model-00003-of-00010.bin"])
def test_one_of_several_is_refused(name: str) -> None:
    """A shard alone is most of a net missing."""
    with pytest.raises(CheckpointError) as caught:
        refuse_lone_shard(name)

    assert caught.value.code == "missing_shard"


@pytest.mark.parametrize("name", ["model-00001-of-00001.safetensors", "model.safetensors", "run-00012-of-mine.pt", ""])
def test_whole_checkpoints_pass(name: str) -> None:
    """One of one is whole, and other names say nothing."""
    refuse_lone_shard(name)
