"""Observers: how long work reports what it does, and learns that it should stop."""

from __future__ import annotations

from typing import Any, Protocol

from cnet.errors import StoppedError


class Observer(Protocol):
    """Receiver of the events of a run, which also decides whether the run goes on.

    Calls can come several times a second: an observer whose work is slow must leave some of them out.
    """

    def phase(self, name: str) -> None:
        """A phase begins.

        Args:
            name: one of load, baseline, transform, finetune or proximal, prune, recover, quantize, encode, evaluate,
                publish.
        """

    def progress(self, fraction: float) -> None:
        """The fraction of the whole work that is done, 0..1. It never falls."""

    def metric(self, values: dict[str, Any]) -> None:
        """Numbers about one step, such as ``{"phase": "finetune", "epoch": 3, "loss": 0.2}``."""

    def log(self, message: str) -> None:
        """A line for a person to read."""

    def should_stop(self) -> bool:
        """Whether the work should end as soon as it can."""


class SilentObserver:
    """An observer that ignores everything and never asks to stop."""

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
    """Raise StoppedError where the observer asks to stop. Long work calls it often."""
    if observer.should_stop():
        raise StoppedError
