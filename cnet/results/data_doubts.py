"""Warnings about data by which a network cannot be judged, whatever its numbers say."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cnet.results.baseline import BaselineResult
from cnet.results.damage import ResultWarning

_ERRORS = 3.0  # standard errors of the difference of two scores, beyond which it is no chance
_LEAST_GAP = 2.0  # percentage points between validation and test that are no reason for a warning
_LEAST_FACTOR = 2.0  # the same for a score that is an error: how many times larger it is on the test split
_FEWEST = 20  # samples on which errors are compared


def one_class(labels: Mapping[str, int], samples: Mapping[str, int]) -> ResultWarning | None:
    """The warning about splits in which all samples have the same label; None where there are none.

    Args:
        labels: how many different labels each split has, by its name.
        samples: number of samples of each split.
    """
    named = [name for name, count in labels.items() if count == 1 and samples.get(name, 0) > 1]
    if not named:
        return None
    splits = f"split{'s' if len(named) > 1 else ''} {', '.join(named)}"
    return ResultWarning(
        "one_class",
        f"all samples of the {splits} have the same label, so that an accuracy on them says nothing of the other "
        "classes. Give samples of all classes, and shuffle them before they are split.",
    )


def baseline_at_chance(baseline: BaselineResult, guess: float | None) -> ResultWarning | None:
    """The warning about a given network that is no better than a guess before it is compressed; None where it is.

    Args:
        baseline: the network before compression.
        guess: the score on the test split of a guess that looks at no input; None where there is none.
    """
    metric = baseline.metric
    if metric is None or guess is None or (metric.value > guess if metric.higher_is_better else metric.value < guess):
        return None
    unit = " %" if metric.unit == "percent" else ""
    shown, compared = f"{metric.value:.4g}{unit}", f"a guess that looks at no input has {guess:.4g}{unit}"
    return ResultWarning(
        "baseline_at_chance",
        f"before compression the network has the {metric.name} {shown} on the test split, and {compared}: it "
        "is not trained, or the data are not those that it was trained for. Compare the labels, the scaling of the "
        "inputs (preprocess) and the order of their channels with those of its training.",
    )


def validation_seen(baseline: BaselineResult, samples: Mapping[str, int]) -> ResultWarning | None:
    """The warning about a given network that is far better on the validation split than on the test split, or None.

    Args:
        baseline: the network before compression.
        samples: number of samples of each split.
    """
    metric = baseline.metric
    if metric is None or metric.validation is None or not _is_far_better(baseline, samples):
        return None
    written = "{:.4g} %".format if metric.unit == "percent" else "{:.4g}".format
    return ResultWarning(
        "validation_seen",
        f"before compression the network has the {metric.name} {written(metric.validation)} on the validation split "
        f"and {written(metric.value)} on the test split, so that it was probably trained on the validation samples, "
        "and a target that is judged on them is met more easily than on new data. Give validation samples that it has "
        "not seen: x_validation and y_validation in an npz file, or images in the folder validation.",
    )


def _is_far_better(baseline: BaselineResult, samples: Mapping[str, int]) -> bool:
    """Whether the score on the validation split is better than that on the test split by more than chance."""
    metric, held, tested = baseline.metric, samples.get("validation", 0), samples.get("test", 0)
    if metric is None or metric.validation is None or not held or not tested:
        return False
    if metric.unit != "percent":
        least = min(held, tested) >= _FEWEST
        return least and not metric.higher_is_better and metric.value > _LEAST_FACTOR * metric.validation > 0
    right = (metric.validation * held + metric.value * tested) / (100 * (held + tested))
    error = 100 * math.sqrt(max(right * (1 - right), 0.0) * (1 / held + 1 / tested))
    return metric.validation - metric.value > max(_LEAST_GAP, _ERRORS * error)
