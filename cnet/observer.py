"""How long work speaks: the one channel that comes back from the pipeline to whoever started it."""

from __future__ import annotations

from typing import Any, Protocol

from cnet.errors import StoppedError


class Observer(Protocol):
    """Told of everything that happens in a run, and asked whether to go on.

    Calls are cheap to receive and may come often (several a second); an observer that writes somewhere throttles.
    """

    def phase(self, name: str) -> None:
        """A phase begins: load, baseline, finetune, prune, recover, quantize, encode, evaluate, publish."""

    def progress(self, fraction: float) -> None:
        """How much of the whole run is done, 0..1, never falling."""

    def metric(self, values: dict[str, Any]) -> None:
        """Numbers of one step of work, such as ``{"phase": "finetune", "epoch": 3, "loss": 0.2}``."""

    def log(self, message: str) -> None:
        """A line for a person to read."""

    def should_stop(self) -> bool:
        """Whether the run should end as soon as it can."""


class Silent:
    """An observer that hears nothing and never stops anything."""

    def phase(self, name: str) -> None:
        """Ignore."""

    def progress(self, fraction: float) -> None:
        """Ignore."""

    def metric(self, values: dict[str, Any]) -> None:
        """Ignore."""

    def log(self, message: str) -> None:
        """Ignore."""

    def should_stop(self) -> bool:
        """Never."""
        return False


def check_stop(observer: Observer) -> None:
    """Raise StoppedError where the observer asks to stop. Called between small pieces of work."""
    if observer.should_stop():
        raise StoppedError
