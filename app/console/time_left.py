"""An estimate of the time that is left, from how fast the work went so far."""

from __future__ import annotations

from collections.abc import Callable

from app.formatting import duration

_SURE_ENOUGH = 0.02  # progress below which nothing is told


class TimeLeft:
    """The time that work of a known progress will still take.

    Args:
        clock: the time in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: tuple[float, float] | None = None
        self.fraction = 0.0
        self.seconds: float | None = None

    def update(self, fraction: float) -> None:
        """Note how much is done, 0 to 1. Work that others began counts from the first call on."""
        self.fraction, now = fraction, self._clock()
        if self._first is None:
            self._first = (now, fraction)
        since, start = self._first
        done = fraction - start
        sure = done >= _SURE_ENOUGH and now > since
        self.seconds = (now - since) * (1 - fraction) / done if sure else None

    @property
    def text(self) -> str:
        """The time as text, such as ``2 min 10 s left``; empty where nothing is known."""
        return "" if self.seconds is None else f"{duration(self.seconds)} left"
