"""The methods that are compared, each with the settings of its own paper where the paper names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cnet.quantize import QUANTIZERS
from cnet.spec import JobSpec

METHODS: dict[str, dict[str, Any]] = {
    **{
        f"CNET {value:g}": {"name": "cnet", "lambda": value} for value in (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.045)
    },
    "CNET ramp": {"name": "cnet", "ramp": {"start": 0.0, "step": 0.007}},
    "Targeted Dropout": {"name": "targeted_dropout", "alpha": 0.66, "gamma": 0.75},
    "Targeted Dropout ramp": {"name": "targeted_dropout", "alpha": 0.99, "gamma": 0.99, "ramp": True},
    "Smallify": {"name": "smallify", "gates": "weight", "lambda": 1e-5},
    "L1": {"name": "l1", "lambda": 1e-5},
    "Hoyer-Square": {"name": "hoyer_square", "lambda": 1e-4},
    "Group lasso": {"name": "group_lasso", "lambda": 1e-4},
}
"""The method of each fine-tuning, by label, as JSON."""


_RATE = {
    "name": "rate",
    "lambda": 1.0,
    "fineness": 2.0,
}  # coarse steps, since few weights of a pruned network are near zero


@dataclass(frozen=True)
class Coder:
    """How recovered weights are quantized and encoded.

    Attributes:
        name: last part of the job's name.
        quantize, encode: the parts, as JSON.
        epochs: training of the centroids, for each point.
        points: number of points.
        label: name of the method where it differs from the recipe's.
        calibrate: the calibration's settings, as JSON; None for none.
    """

    name: str
    quantize: dict[str, Any]
    encode: dict[str, Any] = field(default_factory=lambda: {"name": "compact"})
    epochs: int = 0
    points: int = 1
    label: str = ""
    calibrate: dict[str, Any] | None = None


@dataclass(frozen=True)
class Recipe:
    """How the baseline is trained and pruned.

    Attributes:
        label: name of the method.
        tune: method of a fine-tuning before pruning; empty for none.
        method: method of a gradual pruning, as JSON.
        prune: the pruner without its sparsity, as JSON.
        gradual: whether it prunes during training, without a fine-tuning before.
        rise: more settings of the gradual pruning.
        recovers: whether a recovery follows a gradual pruning; the number of epochs is the same with and without.
        recover: more settings of the recovery.
        only: sparsities to try; empty: all.
        coders: ``all``; ``calibrated`` for all and those calibrated on training images; ``deep``; or ``exact`` where
            the weights are on a grid already.
    """

    label: str
    tune: str = ""
    method: dict[str, Any] = field(default_factory=lambda: {"name": "none"})
    prune: dict[str, Any] = field(default_factory=lambda: {"name": "magnitude"})
    gradual: bool = False
    rise: dict[str, Any] = field(default_factory=dict)
    recovers: bool = True
    recover: dict[str, Any] = field(default_factory=dict)
    only: tuple[float, ...] = ()
    coders: str = "all"

    @staticmethod
    def rivals() -> Iterator[Recipe]:
        """The methods of others, and CNET with a recovery."""
        column = {"name": "magnitude", "scope": "column"}
        for label in ("CNET 0.045", "CNET ramp", "Smallify", "L1", "Hoyer-Square", "Group lasso"):
            yield Recipe(label, tune=label)
        for label in ("Targeted Dropout", "Targeted Dropout ramp"):
            yield Recipe(label, tune=label, prune=column)
        yield Recipe("Deep Compression", coders="deep")


def _default() -> dict[str, Any]:
    """The default method of a job, with its numbers written out."""
    spec = JobSpec.parse({"architecture": {"name": "lenet5"}, "dataset": "any"}).resolved()
    return spec.to_json()["method"]  # type: ignore[no-any-return]


_TAUGHT: dict[str, Any] = {"distill": {}}
_OBD = {"name": "obd"}

OURS: tuple[Recipe, ...] = (
    Recipe("CNET gradual, taught", method=_default(), gradual=True, recover=_TAUGHT),
    Recipe("OBD, CNET, taught", method=METHODS["CNET 0.005"], prune=_OBD, gradual=True, recover=_TAUGHT),
    Recipe(
        "OBD, rate, taught",
        method=_RATE,
        prune=_OBD,
        gradual=True,
        recovers=False,
        recover=_TAUGHT,
        coders="exact",
    ),
    Recipe("OBD gradual", prune=_OBD, gradual=True),
    Recipe("CNET gradual, the default", method=_default(), gradual=True, coders="calibrated"),
)
"""The recipes of this project: pruning during training, learning from the original network, rate-aware training."""

_KMEANS = Coder("kmeans", {"name": "kmeans", "clusters": [32, 16, 8]}, epochs=1, points=3)
_ECSQ = tuple(Coder(f"ecsq-{step:g}", {"name": "ecsq", "step": step}) for step in (0.5, 1.0))
_FLOAT16 = {"name": "compact", "other": "float16"}
_TRAINED = tuple(
    Coder(f"trained-{step:g}", {"name": "ecsq", "step": step, "states": 1, "sensitivity": 0.5}, _FLOAT16, epochs=1)
    for step in (0.2, 0.3, 0.4)
)
_CALIBRATED = tuple(
    Coder(
        f"calibrated-{nats:g}",
        {"name": "calibrated", "divergence": nats},
        _FLOAT16,
        epochs=1,
        calibrate={"samples": 1024},
    )
    for nats in (0.01, 0.015, 0.02)
)
_EXACT = Coder("exact", {"name": "kmeans", "clusters": [4096]}, epochs=1)
_DEEP = {"name": "kmeans", "scope": "layer", "clusters": [32, 16, 8]}
_UNIVERSAL = (0.5, 1.0)


def coders(recipe: Recipe) -> Iterator[Coder]:
    """The coders for the networks of a recipe: the same for all, plus their own for Deep Compression and UDNN."""
    if recipe.coders == "exact":
        yield _EXACT
        return
    if recipe.coders == "deep":
        yield Coder("layer-huffman", _DEEP, {"name": "huffman"}, epochs=1, points=3)
        yield Coder("layer-compact", _DEEP, epochs=1, points=3)
        if "universal" in QUANTIZERS.names():
            for step in _UNIVERSAL:
                quantize = {"name": "universal", "step": step}
                yield Coder(f"universal-{step:g}", quantize, epochs=1, label="UDNN")
        yield from _TRAINED
        return
    yield _KMEANS
    yield from _ECSQ
    yield from _TRAINED
    if recipe.coders == "calibrated":
        yield from _CALIBRATED
