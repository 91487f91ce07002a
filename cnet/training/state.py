"""The file from which a training goes on after it was cut off."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cnet.files import atomic_write

_FORMAT = 2


@dataclass(frozen=True, eq=False)
class Progress:
    """Where a training stands: epochs done, and all tensors that the next epoch starts from."""

    epochs: int
    module: dict[str, Any]
    optimizer: dict[str, Any]
    pinning: dict[str, Any]
    method: dict[str, Any]


def save(path: Path, identity: str, progress: Progress) -> None:
    """Write ``path`` whole or not at all.

    Args:
        path: the state file; its folder is made where it is missing.
        identity: digest of everything that the training's result depends on.
        progress: what to keep.

    Raises:
        OSError: the file cannot be written; what was there before stays.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()  # torch's own writer hides why a disk refused
    torch.save({"format": _FORMAT, "identity": identity, **vars(progress)}, content)
    with atomic_write(path) as file:
        file.write(content.getbuffer())


def load(path: Path, identity: str, log: Callable[[str], None]) -> Progress | None:
    """What ``path`` holds for the training ``identity``; None, and a line in the log, where it is of no use."""
    if not path.exists():
        return None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        known = (content.pop("format"), content.pop("identity")) == (_FORMAT, identity)
        progress = Progress(**content)
    except Exception:  # noqa: BLE001 - a damaged file raises many classes, and each means to start anew
        log("the saved state of this training is damaged: starting it anew")
        return None
    if not known:
        log("the saved state is of another training: starting this one anew")
        return None
    return progress
