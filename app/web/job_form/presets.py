"""Presets: what matters to the user, as the specification that empty fields of the form stand for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.web.job_form.sections import UNLABELLED_INPUTS
from cnet.training.tasks import TASKS, Task

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Number:
    """The number of a preset that can be changed: its name in the form, its unit, and its default."""

    name: str
    unit: str
    default: float


@dataclass(frozen=True)
class Data:
    """What a job has besides weights.

    Attributes:
        dataset: whether it has a data set to train on.
        inputs: whether it has unlabelled inputs to calibrate with.
        task: what its network is trained for and judged by; None where the form does not say.
    """

    dataset: bool
    inputs: bool
    task: Task | None = None


@dataclass(frozen=True)
class Preset:
    """One preset.

    Attributes:
        key: its name in the form.
        title: for people.
        explanation: what happens.
        spec: the specification, given the data of the job and the number.
        number: that can be changed; None where there is none.
        needs_data: whether it needs a data set and a network.
    """

    key: str
    title: str
    explanation: str
    spec: Callable[[Data, float], dict[str, Any]]
    number: Number | None = None
    needs_data: bool = False


_NO_TRAINING: dict[str, Any] = {
    "method": {"name": "none"},
    "training": {"epochs": 0},
    "prune": {"name": "magnitude", "sparsity": [0], "gradual": {"epochs": 0}},
    "recover": {"epochs": 0, "centroid_epochs": 0},
}
_PAPER: dict[str, Any] = {
    "method": {"name": "cnet", "lambda": 0.045},
    "prune": {"name": "magnitude", "sparsity": [0.5, 0.7, 0.9], "gradual": {"epochs": 0}},
    "quantize": {"name": "kmeans", "clusters": [256, 64, 16]},
    "encode": {"name": "npz"},
}


def _safe(data: Data, _: float) -> dict[str, Any]:
    quantizer = {"quantize": {"name": "calibrated" if data.inputs else "auto", "quality": "safe"}}
    return {**_NO_TRAINING, **quantizer} if data.dataset else quantizer


def _little_loss(data: Data, number: float) -> dict[str, Any]:
    """The target of a loss: in percentage points, or in percent of an error or of the variance of numbers."""
    metric = None if data.task is None else data.task.metric
    if metric is None or metric.unit == "percent":
        return {"target": {"max_accuracy_drop": number}}
    if metric.higher_is_better:
        return {"target": {"min_output_snr": round(10 * math.log10(100 / number), 2)}}
    return {"target": {"max_error_rise": number}}


_OFFERED = (
    Preset(
        "safe",
        "Safe: no visible change",
        "Weights are rounded so finely that outputs hardly change. Nothing is trained; it takes moments and needs no "
        "data. With a data set the accuracy is measured too; with unlabelled inputs the weights are rounded by the "
        "outputs of the network, and how far these move is measured.",
        _safe,
    ),
    Preset(
        "drop",
        "As small as possible, losing little accuracy",
        "The network is trained further, pruned and quantized in a search for the smallest file that loses no more "
        "percentage points of accuracy than you allow. Of a regression the number is the percentage by which its error "
        "may rise; of numbers that are learned from the original, that of their variance that errors may have. It "
        "trains up to 12 sparsities, so that it takes many times as long as one training. The loss is judged on "
        "validation data, a tenth of the training data: half a percentage point needs about 2,000 samples of them, "
        "several points a hundred.",
        _little_loss,
        Number("max_drop", "percentage points", 0.5),
        needs_data=True,
    ),
    Preset(
        "size",
        "The best that fits a size",
        "A search for the most accurate network whose file is not larger. Without data it is the one whose weights "
        "change least.",
        lambda _, number: {"target": {"max_bytes": max(round(number * _MEGABYTE), 1)}},
        Number("max_megabytes", "MB", 1.0),
    ),
    Preset(
        "paper",
        "The paper's recipe",
        "Compressibility loss with \N{GREEK SMALL LETTER LAMDA} 0.045, pruning by magnitude at once, k-means and npz: "
        "every combination of three sparsities and three numbers of clusters.",
        lambda _data, _number: _PAPER,
        needs_data=True,
    ),
    Preset(
        "own",
        "My own settings",
        "The defaults of the service, and what you change below.",
        lambda _data, _number: {},
    ),
)
PRESETS: Mapping[str, Preset] = {preset.key: preset for preset in _OFFERED}
"""All presets by key, in the order in which they are offered."""


def preset_spec(form: Mapping[str, str]) -> dict[str, Any]:
    """The specification of the preset that a form has chosen; that of an unknown one is empty.

    Where its number is not a finite one above 0, the preset's default counts.
    """
    preset = PRESETS.get(form.get("preset", ""))
    if preset is None:
        return {}
    number = _positive(form.get(preset.number.name, ""), preset.number.default) if preset.number else 0.0
    task = form.get("task", "") if form.get("architecture", "").startswith("prog_") else ""
    data = Data(
        bool(form.get("dataset")),
        bool(form.get(UNLABELLED_INPUTS)),
        TASKS.create(task) if task in TASKS.names() else None,
    )
    return preset.spec(data, number)


def _positive(text: str, default: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return default
    return value if math.isfinite(value) and value > 0 else default
