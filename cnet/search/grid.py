"""What a job's points can be: each sparsity with each setting of each quantizer.

What the job names stays as it is. Where it names a target, what it leaves out is chosen by a search: the sparsity from
``LADDER``; the parameter of the quantizer that has a ladder (``Quantizer.ladders``); the quantizer itself, of
``kmeans`` and ``ecsq``, as far as the encoder suits it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cnet.coding import ENCODERS
from cnet.prune import Pruner
from cnet.quantize import QUANTIZERS, Quantizer
from cnet.search.surrogate import Places
from cnet.spec import JobSpec

Level = tuple[npt.NDArray[np.intp], Quantizer, int | None]

LADDER = (
    *(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875),
    *(0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.998),
)
"""The sparsities that a search can try."""

_MOST_SPARSITIES = 12
_MOST_POINTS = 60
_FEW_POINTS = 12
_LEAST_KEPT = 2.0**-12  # sparsity 1 has to lie somewhere


@dataclass(frozen=True)
class Candidate:
    """A point that can be made.

    Attributes:
        sparsity: to be asked of the pruner.
        quantizer: with nothing open.
        clusters: one of the quantizer's levels.
        family: number of the quantizer among those of the job.
    """

    sparsity: float
    quantizer: Quantizer
    clusters: int | None
    family: int = 0

    @property
    def bits(self) -> float:
        """Nominal bits of a kept weight."""
        return self.quantizer.nominal_bits(self.clusters)


@dataclass(frozen=True)
class Grid:
    """All candidates of a job, sparsity by sparsity in the order in which the job names them."""

    candidates: tuple[Candidate, ...]
    searched: bool

    @classmethod
    def of(cls, spec: JobSpec) -> Grid:
        """The candidates of ``spec``; each is to be made, unless they are ``searched``."""
        searched = searches(spec)
        levels = tuple(_levels(spec, searched))
        rows = (Candidate(s, quantizer, k, family) for s in _sparsities(spec) for quantizer, k, family in levels)
        return cls(tuple(rows), searched)

    @cached_property
    def places(self) -> Places:
        """Where the candidates lie."""
        kept = np.array([1 - candidate.sparsity for candidate in self.candidates])
        bits = np.array([candidate.bits for candidate in self.candidates])
        family = np.array([candidate.family for candidate in self.candidates], np.intp)
        return Places(-np.log2(np.maximum(kept, _LEAST_KEPT)), bits, family)

    @cached_property
    def sparsities(self) -> tuple[float, ...]:
        """The distinct sparsities, in order."""
        return tuple(dict.fromkeys(candidate.sparsity for candidate in self.candidates))

    @cached_property
    def position(self) -> npt.NDArray[np.intp]:
        """Which of ``sparsities`` each candidate has."""
        places = {sparsity: place for place, sparsity in enumerate(self.sparsities)}
        return np.array([places[candidate.sparsity] for candidate in self.candidates], np.intp)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Each setting of each quantizer, with the candidates that have it."""
        rows: dict[tuple[str, int | None], list[int]] = {}
        for row, candidate in enumerate(self.candidates):
            rows.setdefault((candidate.quantizer.model_dump_json(), candidate.clusters), []).append(row)
        firsts = [(np.array(found, np.intp), self.candidates[found[0]]) for found in rows.values()]
        return tuple((found, first.quantizer, first.clusters) for found, first in firsts)

    @property
    def most_sparsities(self) -> int:
        """How many sparsities are made at most; exactly as many where nothing is searched."""
        count = len(self.sparsities)
        return min(count, _MOST_SPARSITIES) if self.searched else count

    @property
    def most_prunings(self) -> int:
        """How many of the sparsities that are made, at most, leave something to prune."""
        return min(self.most_sparsities, sum(sparsity > 0 for sparsity in self.sparsities))

    @property
    def most_points(self) -> int:
        """How many points are made at most; exactly as many where nothing is searched."""
        count = len(self.candidates)
        return min(count, max(_FEW_POINTS, min(_MOST_POINTS, count // 4))) if self.searched else count


def searches(spec: JobSpec) -> bool:
    """Whether there is a target and the job, as the user wrote it, leaves something open."""
    return spec.target is not None and (_open_sparsity(spec) or _open_levels(spec))


def open_document(spec: JobSpec) -> dict[str, Any]:
    """The JSON form of the resolved spec less what is searched for, which written out would read as the user's own."""
    document = spec.resolved().to_json()
    if not searches(spec):
        return document
    if _open_sparsity(spec):
        del document["prune"]["sparsity"]
    if spec.quantize is None:
        del document["quantize"]
    elif spec.quantize.open is not None:
        del document["quantize"][spec.quantize.open]
    return document


def _open_sparsity(spec: JobSpec) -> bool:
    return spec.prune is None or "sparsity" not in spec.prune.model_fields_set


def _open_levels(spec: JobSpec) -> bool:
    return spec.quantize is None or spec.quantize.open is not None


def _sparsities(spec: JobSpec) -> tuple[float, ...]:
    if searches(spec) and _open_sparsity(spec):
        return LADDER
    return cast(Pruner, spec.resolved().prune).sparsity


def _levels(spec: JobSpec, searched: bool) -> Iterator[tuple[Quantizer, int | None, int]]:
    """Quantizer, cluster count and number of the quantizer."""
    if searched and spec.quantize is None:
        suited = isinstance(spec.resolved().encode, ENCODERS.get("compact"))  # ecsq's labels are made for it
        families = [QUANTIZERS.create("kmeans"), *([_ecsq(spec)] if suited else [])]
    else:
        families = [cast(Quantizer, spec.resolved().quantize)]
    for family, quantizer in enumerate(families):
        for variant in quantizer.variants() if searched else (quantizer,):
            for clusters in variant.levels():
                yield variant, clusters, family


def _ecsq(spec: JobSpec) -> Quantizer:
    """With a trellis, but where centroids are trained, which does more for the accuracy and needs them free."""
    recover = spec.resolved().recover
    return QUANTIZERS.create("ecsq", **({"states": 1} if recover and recover.centroid_epochs else {}))
