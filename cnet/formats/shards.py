"""Checkpoints in several files, of which one alone is not a net."""

from __future__ import annotations

import re

from cnet.errors import CheckpointError

_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.\w+$")


def refuse_lone_shard(filename: str) -> None:
    """Raise CheckpointError (``missing_shard``) where a name is that of one shard of several (Hugging Face's scheme).

    The content of a shard is a sound checkpoint; only its name tells that most of the net is missing.
    """
    found = _SHARD.search(filename)
    if found and int(found[2]) > 1:
        raise CheckpointError(
            f"this is shard {int(found[1])} of {int(found[2])}: join all shards of the checkpoint in one file",
            code="missing_shard",
        )
