"""Whether the samples that choices are made on are enough to tell the loss that a target allows from chance.

The accuracy on n samples moves in steps of 1/n, and differs from that on endless data by a standard error of
sqrt(p (1 - p) / n), for a share p of samples that are right. Where either is larger than the loss that is allowed,
the selected point may lose more on new data.
"""

from __future__ import annotations

import math

from cnet.results.damage import ResultWarning

ASSUMED_PERCENT = 95.0
"""The accuracy that is assumed before one is measured."""

_LEAST_ALLOWED = 0.25  # percentage points; a target that allows no loss at all is judged like this one


def small_validation(samples: int, allowed: float, percent: float | None, split: str) -> ResultWarning | None:
    """The warning that a loss of accuracy, or of agreement, cannot be told from chance; None where it can.

    Args:
        samples: on which choices are made.
        allowed: the largest loss that meets the target, in percentage points.
        percent: the accuracy or agreement of the network before compression; None: not known yet.
        split: the split that the samples are of.
    """
    before = ASSUMED_PERCENT if percent is None else percent
    right = min(max(before - allowed, 0.0), 100.0) / 100
    variance = max(right * (1 - right), 1 / samples)
    step, error, least = 100 / samples, 100 * math.sqrt(variance / samples), max(allowed, _LEAST_ALLOWED)
    if max(step, error) <= least:
        return None
    needed = max(100 / least, 1e4 * right * (1 - right) / least**2)
    assumed = "an accuracy of 95 %" if percent is None else f"{100 * right:.4g} %"
    points = "point" if allowed == 1 else "points"
    return ResultWarning(
        "small_validation",
        f"the target allows a loss of {allowed:g} percentage {points}, and it is judged on {samples} samples of the "
        f"{split} split: one of them is {step:.3g} points, and at {assumed} the standard error is {error:.2g} points. "
        f"The loss on new data may be larger by twice that. {_remedy(needed)}",
    )


def small_validation_of_errors(samples: int, allowed: float, error: float, split: str) -> ResultWarning | None:
    """The same for a score that is an error, such as a mean squared error; None where the samples are enough.

    The standard error is that of the mean of n squares of normal numbers, sqrt(2 / n) of the mean.

    Args:
        samples: on which choices are made.
        allowed: the largest rise that meets the target, in the unit of the score.
        error: of the network before compression.
        split: the split that the samples are of.
    """
    deviation = abs(error) * math.sqrt(2 / samples)
    if not allowed or deviation <= allowed:
        return None
    return ResultWarning(
        "small_validation",
        f"the target allows a rise of {allowed:g}, and it is judged on {samples} samples of the {split} split, on "
        f"which the standard error of {abs(error):.4g} is about {deviation:.2g}. The rise on new data may be larger "
        f"by twice that. {_remedy(2 * (error / allowed) ** 2)}",
    )


def _remedy(needed: float) -> str:
    """What to do where so many samples are needed."""
    digits = 10 ** max(len(str(math.ceil(needed))) - 2, 0)
    count = math.ceil(needed / digits) * digits
    return (
        f"About {count:,} samples tell it: give more data, or a larger share of them for the validation, such as "
        "validation 0.3; or allow a larger loss."
    )
