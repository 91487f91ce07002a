"""What a job's points can be: each sparsity with each setting of each quantizer.

What the job names stays as it is. Where it names a target, a search chooses what it leaves out: one field of the pruner
and one of the quantizer (``cnet.capabilities.Searchable``), and the quantizer itself among those that propose
themselves (``cnet.capabilities.SearchedByDefault``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cnet.capabilities import SearchConditions, SearchedByDefault, search_variants, searched_field
from cnet.coding import Encoder
from cnet.prune import PRUNERS, Pruner
from cnet.quantize import QUANTIZERS, Quantizer
from cnet.search.surrogate import Places
from cnet.spec import JobSpec

Level = tuple[npt.NDArray[np.intp], Quantizer, int | None]

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
        sparsities = _sparsities(spec, searched=searched)
        rows = (Candidate(s, quantizer, k, family) for s in sparsities for quantizer, k, family in levels)
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
    if spec.target is None:
        return False
    pruner_searched = searched_field(_searched_pruner(spec)) is not None
    return pruner_searched or spec.quantize is None or searched_field(spec.quantize) is not None


def open_document(spec: JobSpec) -> dict[str, Any]:
    """The JSON form of the resolved spec less what is searched for, which written out would read as the user's own."""
    document = spec.resolved().to_json()
    if not searches(spec):
        return document
    searched = searched_field(_searched_pruner(spec))
    if searched is not None:
        del document["prune"][searched]
    if spec.quantize is None:
        del document["quantize"]
    elif (searched := searched_field(spec.quantize)) is not None:
        del document["quantize"][searched]
    return document


def _searched_pruner(spec: JobSpec) -> Pruner:
    """The job's pruner with the fields set that the job names, and no others."""
    return spec.prune or PRUNERS.create(cast(Pruner, spec.resolved().prune).name)


def _sparsities(spec: JobSpec, *, searched: bool) -> tuple[float, ...]:
    if not searched:
        return cast(Pruner, spec.resolved().prune).sparsity
    return tuple(s for variant in search_variants(_searched_pruner(spec)) for s in variant.sparsity)


def _levels(spec: JobSpec, searched: bool) -> Iterator[tuple[Quantizer, int | None, int]]:
    """Quantizer, cluster count and number of the quantizer."""
    resolved = cast(Quantizer, spec.resolved().quantize)
    families = _searched_quantizers(spec, resolved) if searched and spec.quantize is None else [resolved]
    for family, quantizer in enumerate(families):
        for variant in search_variants(quantizer) if searched else (quantizer,):
            for clusters in variant.cluster_counts():
                yield variant, clusters, family


def _searched_quantizers(spec: JobSpec, default: Quantizer) -> list[Quantizer]:
    """The quantizers that propose themselves for a search of ``spec``: the default one first, then by name."""
    resolved = spec.resolved()
    conditions = SearchConditions(
        context_rates=cast(Encoder, resolved.encode).context_rates,
        trains_centroids=resolved.recover is not None and resolved.recover.centroid_epochs > 0,
    )
    found: list[Quantizer] = []
    for name in sorted(QUANTIZERS.names(), key=lambda name: (name != default.name, name)):
        kind = QUANTIZERS.get(name)
        proposed = kind.for_search(conditions) if isinstance(kind, SearchedByDefault) else None
        found += [] if proposed is None else [proposed]
    return found
