"""Axes: where a value lies on a figure, and which values have a tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

_STEPS = (1, 2, 5)
_FEWEST_TICKS = 3


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``.

    Attributes:
        low, high: the values at its ends.
        start, stop: the coordinates of its ends.
        logarithmic: whether equal ratios, in place of equal differences, have equal lengths.
        name: what it shows, with its unit.
        label: writes the value of a tick.
    """

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool
    name: str
    label: Callable[[float], str]

    @classmethod
    def around(
        cls,
        values: Iterable[float],
        ends: tuple[float, float],
        name: str,
        label: Callable[[float], str] = "{:g}".format,
        *,
        logarithmic: bool = False,
    ) -> Self:
        """The axis that holds all values with a little room, which are above 0 where it is logarithmic."""
        found = [value for value in values if math.isfinite(value)] or [1.0]
        low, high = min(found), max(found)
        if logarithmic:
            room = max((high / low) ** 0.06, 1.05)
            return cls(low / room, high * room, *ends, logarithmic, name, label)
        room = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
        return cls(low - room, high + room, *ends, logarithmic, name, label)

    def position(self, value: float) -> float:
        """The coordinate of a value."""
        scale = math.log if self.logarithmic else float
        fraction = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.start + fraction * (self.stop - self.start)

    def ticks(self, most: int = 7) -> list[float]:
        """Round values along the axis, up to ``most`` of them."""
        if self.logarithmic:
            for steps in ((1, 2, 5), (1, 3), (1,)):
                found = [value for value in self._decades(steps) if self.low <= value <= self.high]
                if _FEWEST_TICKS <= len(found) <= most:
                    return found
        return self._even_ticks(most)

    def _decades(self, steps: tuple[int, ...]) -> Iterable[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        return (step * 10.0**power for power in range(first, last + 1) for step in steps)

    def _even_ticks(self, most: int) -> list[float]:
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s * power for s in (*_STEPS, 10) if s * power >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(count * step, 12) for count in range(first, last + 1)]
