"""The methods that are held against each other, each in the setting of its own paper where that names one."""

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
"""The methods of all fine-tunings by label, JSON forms."""


_RATE = {"name": "rate", "lambda": 1.0, "fineness": 2.0}  # coarse steps: of a pruned net little is near zero


@dataclass(frozen=True)
class Coder:
    """A way from recovered weights to a file.

    Attributes:
        name: its part of the job's name.
        quantize, encode: JSON forms.
        epochs: of fine-tuning the centroids, of each of its points.
        points: how many it makes.
        label: the method's name where it is not the recipe's.
    """

    name: str
    quantize: dict[str, Any]
    encode: dict[str, Any] = field(default_factory=lambda: {"name": "compact"})
    epochs: int = 0
    points: int = 1
    label: str = ""


@dataclass(frozen=True)
class Recipe:
    """A way from the baseline to recovered weights.

    Attributes:
        label: the method's name.
        tune: the method of a fine-tuning of its own that comes first; empty for none.
        method: kept on in a gradual pruning, JSON form.
        prune: JSON form without the sparsity.
        gradual: whether it prunes during training; then there is no fine-tuning before.
        rise: more settings of the gradual pruning.
        recovers: whether a recovery follows a gradual pruning; the epochs are the same with and without.
        recover: more settings of the recovery.
        only: sparsities to try; all where empty.
        coders: ``all``, ``kmeans`` or ``exact`` (weights are on a grid already).
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
        """All methods that others have, and CNET with a recovery."""
        column = {"name": "magnitude", "scope": "column"}
        for label in ("CNET 0.045", "CNET ramp", "Smallify", "L1", "Hoyer-Square", "Group lasso"):
            yield Recipe(label, tune=label)
        for label in ("Targeted Dropout", "Targeted Dropout ramp"):
            yield Recipe(label, tune=label, prune=column)
        yield Recipe("Deep Compression", coders="deep")


def _default() -> dict[str, Any]:
    """The method of a job that names none, its numbers written out: what they are follows the product."""
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
    Recipe("CNET gradual, the default", method=_default(), gradual=True),
)
"""What this project adds: pruning during training, learning from the original net, rate-aware training."""

_KMEANS = Coder("kmeans", {"name": "kmeans", "clusters": [32, 16, 8]}, epochs=1, points=3)
_ECSQ = tuple(Coder(f"ecsq-{step:g}", {"name": "ecsq", "step": step}) for step in (0.5, 1.0))
_FLOAT16 = {"name": "compact", "other": "float16"}
_TRAINED = tuple(
    Coder(f"trained-{step:g}", {"name": "ecsq", "step": step, "states": 1, "sensitivity": 0.5}, _FLOAT16, epochs=1)
    for step in (0.2, 0.3, 0.4)
)
_EXACT = Coder("exact", {"name": "kmeans", "clusters": [4096]}, epochs=1)
_DEEP = {"name": "kmeans", "scope": "layer", "clusters": [32, 16, 8]}
_UNIVERSAL = (0.5, 1.0)


def coders(recipe: Recipe) -> Iterator[Coder]:
    """What a recipe's nets are coded with: the same for all, and for Deep Compression and UDNN their own besides."""
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
