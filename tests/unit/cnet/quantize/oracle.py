"""Optimal 1-D k-means by the plain quadratic programme: slow, short, and written apart from the product."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt


def best_cost(values: npt.NDArray[np.floating], clusters: int) -> float:
    """Least sum of squared errors of ``values`` with at most ``clusters`` shared values, in exact arithmetic."""
    ordered = [Fraction(float(value)) for value in np.sort(values)]
    first, second = [Fraction(0)], [Fraction(0)]
    for value in ordered:
        first.append(first[-1] + value)
        second.append(second[-1] + value * value)

    def cost(begin: int, end: int) -> Fraction:
        moment = first[end] - first[begin]
        return second[end] - second[begin] - moment * moment / (end - begin)

    count = len(ordered)
    best = [Fraction(0)] + [cost(0, end) for end in range(1, count + 1)]
    for _ in range(clusters - 1):
        best = [Fraction(0)] + [
            min(best[begin] + cost(begin, end) for begin in range(end)) for end in range(1, count + 1)
        ]
    return float(best[-1])
