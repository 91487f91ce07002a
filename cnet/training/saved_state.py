"""The file from which an interrupted training is resumed."""

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
class SavedState:
    """The state of a training after an epoch: the number of epochs done, and the state that the next epoch starts from.

    Attributes:
        epochs: number of epochs done.
        module: ``state_dict`` of the network.
        optimizer: ``state_dict`` of the optimizer.
        constraint: ``state_dict`` of the constraint of the weights.
        method: ``state_dict`` of the applied method.

    """

    epochs: int
    module: dict[str, Any]
    optimizer: dict[str, Any]
    constraint: dict[str, Any]
    method: dict[str, Any]


def save_state(path: Path, identity: str, state: SavedState) -> None:
    """Write the state of a training to ``path``, completely or not at all.

    Args:
        path: the file; its folder is made where it does not exist.
        identity: digest of everything that decides the result of the training.
        state: what to save.

    Raises:
        OSError: the file cannot be written; a former file stays as it was.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()  # torch.save to a file would hide why writing failed
    torch.save({"format": _FORMAT, "identity": identity, **vars(state)}, content)
    with atomic_write(path) as file:
        file.write(content.getbuffer())


def load_state(path: Path, identity: str, log: Callable[[str], None]) -> SavedState | None:
    """The state that ``path`` holds for a training; None if there is none that can be used.

    Args:
        path: the file.
        identity: digest of everything that decides the result of the training.
        log: told why an existing file is not used.

    """
    if not path.exists():
        return None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        known = (content.pop("format"), content.pop("identity")) == (_FORMAT, identity)
        state = SavedState(**content)
    except Exception:  # noqa: BLE001 - a damaged file raises many classes, and each means to start again
        log("the saved state of this training is damaged; the training starts again from its first epoch")
        return None
    if not known:
        log("the saved state belongs to another training; this training starts from its first epoch")
        return None
    return state
