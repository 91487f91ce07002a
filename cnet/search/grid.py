"""The candidates of a job: each sparsity with each setting of each quantizer.

What the job names is fixed. Where it names a target, a search chooses what it leaves out: one field of the pruner and
one of the quantizer (``Searchable`` in ``cnet.parts.capabilities``), and the quantizer itself among those that
propose themselves (``SearchedByDefault``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cnet.coding import Encoder
from cnet.parts.capabilities import SearchConditions, SearchedByDefault, search_variants, searched_field
from cnet.prune import PRUNERS, Pruner
from cnet.quantize import QUANTIZERS, Quantizer
from cnet.search.surrogate import Coordinates
from cnet.spec import JobSpec

# Limits of a search; a job that is not searched makes all its candidates.
_MAX_SPARSITIES = 12
_MAX_POINTS = 60
_FEW_POINTS = 12  # so many are always allowed, otherwise a quarter of the candidates
_LEAST_KEPT = 2.0**-12  # share of kept weights at which sparsity 1 is placed


@dataclass(frozen=True)
class Candidate:
    """A point that can be made.

    Attributes:
        sparsity: that the pruner is asked for, 0..1.
        quantizer: with no field left to search.
        clusters: one of the quantizer's ``cluster_counts()``.
        quantizer_index: of the quantizer among those that the job can choose from.
    """

    sparsity: float
    quantizer: Quantizer
    clusters: int | None
    quantizer_index: int = 0

    @property
    def bits(self) -> float:
        """Nominal bits of the label of a kept weight (``Quantizer.nominal_bits``)."""
        return self.quantizer.nominal_bits(self.clusters)


@dataclass(frozen=True, eq=False)
class QuantizerSetting:
    """One quantizer with one cluster count, and the candidates that have them.

    Attributes:
        rows: indexes of the candidates, intp, shape (k,).
        quantizer: with no field left to search.
        clusters: one of the quantizer's ``cluster_counts()``.
    """

    rows: npt.NDArray[np.intp]
    quantizer: Quantizer
    clusters: int | None


@dataclass(frozen=True)
class CandidateGrid:
    """All candidates of a job, sparsity by sparsity in the order in which the job names them.

    Attributes:
        candidates: at least one.
        searched: whether a search chooses among the candidates; otherwise all of them are made.
    """

    candidates: tuple[Candidate, ...]
    searched: bool

    @classmethod
    def of(cls, spec: JobSpec) -> CandidateGrid:
        """The candidates of a job."""
        searched = is_searched(spec)
        settings = tuple(_quantizer_settings(spec, searched=searched))
        sparsities = _sparsities(spec, searched=searched)
        rows = (Candidate(s, quantizer, k, index) for s in sparsities for quantizer, k, index in settings)
        return cls(tuple(rows), searched)

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates of the candidates in the space of the surrogate model."""
        kept = np.array([1 - candidate.sparsity for candidate in self.candidates])
        bits = np.array([candidate.bits for candidate in self.candidates])
        quantizer = np.array([candidate.quantizer_index for candidate in self.candidates], np.intp)
        return Coordinates(-np.log2(np.maximum(kept, _LEAST_KEPT)), bits, quantizer)

    @cached_property
    def sparsities(self) -> tuple[float, ...]:
        """The distinct sparsities, in order."""
        return tuple(dict.fromkeys(candidate.sparsity for candidate in self.candidates))

    @cached_property
    def sparsity_index(self) -> npt.NDArray[np.intp]:
        """The index in ``sparsities`` of each candidate's sparsity, shape (candidates,)."""
        indexes = {sparsity: index for index, sparsity in enumerate(self.sparsities)}
        return np.array([indexes[candidate.sparsity] for candidate in self.candidates], np.intp)

    @cached_property
    def quantizer_settings(self) -> tuple[QuantizerSetting, ...]:
        """Each quantizer with each cluster count, in the order of the first candidate that has it."""
        rows: dict[tuple[str, int | None], list[int]] = {}
        for row, candidate in enumerate(self.candidates):
            rows.setdefault((candidate.quantizer.model_dump_json(), candidate.clusters), []).append(row)
        firsts = [(np.array(found, np.intp), self.candidates[found[0]]) for found in rows.values()]
        return tuple(QuantizerSetting(found, first.quantizer, first.clusters) for found, first in firsts)

    @property
    def max_sparsities(self) -> int:
        """Largest number of sparsities that are made; without a search exactly their number."""
        count = len(self.sparsities)
        return min(count, _MAX_SPARSITIES) if self.searched else count

    @property
    def max_prunings(self) -> int:
        """Largest number of sparsities that are made and leave something to prune."""
        return min(self.max_sparsities, sum(sparsity > 0 for sparsity in self.sparsities))

    @property
    def max_points(self) -> int:
        """Largest number of points that are made; without a search exactly their number."""
        count = len(self.candidates)
        return min(count, max(_FEW_POINTS, min(_MAX_POINTS, count // 4))) if self.searched else count


def is_searched(spec: JobSpec) -> bool:
    """Whether the job has a target and, as its user wrote it, leaves something for a search to choose."""
    if spec.target is None:
        return False
    pruner_searched = searched_field(_pruner_to_search(spec)) is not None
    return pruner_searched or spec.quantize is None or searched_field(spec.quantize) is not None


def resolved_document(spec: JobSpec) -> dict[str, Any]:
    """The JSON form of the resolved spec without the fields that are searched.

    It parses to a spec with the same candidates: written out, the default of a searched field would be the user's own
    choice.
    """
    document = spec.resolved().to_json()
    if not is_searched(spec):
        return document
    field = searched_field(_pruner_to_search(spec))
    if field is not None:
        del document["prune"][field]
    if spec.quantize is None:
        del document["quantize"]
    elif (field := searched_field(spec.quantize)) is not None:
        document["quantize"].pop(field, None)
    return document


def _pruner_to_search(spec: JobSpec) -> Pruner:
    """The job's pruner with those fields set that the job names, and no others.

    Without a data set a pruner that is not named prunes nothing where the default quantizer is searched: no training
    makes up for what pruning does, and the quantizer itself rounds to zero where that does the least damage.
    """
    if spec.prune is None and not spec.trains:
        default = cast(Quantizer, spec.model_copy(update={"quantize": None}).resolved().quantize)
        quantizers = [spec.quantize] if spec.quantize else _quantizers_to_search(spec, default)
        if all(isinstance(each, type(default)) and searched_field(each) is not None for each in quantizers):
            return cast(Pruner, spec.resolved().prune)
    return spec.prune or PRUNERS.create(cast(Pruner, spec.resolved().prune).name)


def _sparsities(spec: JobSpec, *, searched: bool) -> tuple[float, ...]:
    """The sparsities of all candidates, in order."""
    if not searched:
        return cast(Pruner, spec.resolved().prune).sparsity
    return tuple(s for variant in search_variants(_pruner_to_search(spec)) for s in variant.sparsity)


def _quantizer_settings(spec: JobSpec, *, searched: bool) -> Iterator[tuple[Quantizer, int | None, int]]:
    """Quantizer, cluster count and index of the quantizer of all candidates of one sparsity."""
    resolved = cast(Quantizer, spec.resolved().quantize)
    quantizers = _quantizers_to_search(spec, resolved) if searched and spec.quantize is None else [resolved]
    for index, quantizer in enumerate(quantizers):
        for variant in search_variants(quantizer) if searched else (quantizer,):
            for clusters in variant.cluster_counts():
                yield variant, clusters, index


def _quantizers_to_search(spec: JobSpec, default: Quantizer) -> list[Quantizer]:
    """The quantizers that propose themselves for a search of ``spec``: the default one first, then by name.

    Without a data set, and with calibration inputs, the default one alone, where it proposes itself: the others have
    one step size, or one codebook, for all tensors, and the mean squared error does not show what that does.
    """
    resolved = spec.resolved()
    conditions = SearchConditions(
        context_rates=cast(Encoder, resolved.encode).context_rates,
        trains_centroids=resolved.recover is not None and resolved.recover.centroid_epochs > 0,
        trains=spec.trains,
        calibrates=spec.calibrate is not None,
    )
    own = default.for_search(conditions) if isinstance(default, SearchedByDefault) else None
    if isinstance(own, Quantizer) and (spec.calibrate is not None or not spec.trains):
        return [own]
    proposals: list[Quantizer | None] = []
    for name in sorted(QUANTIZERS.names(), key=lambda name: (name != default.name, name)):
        kind = QUANTIZERS.get(name)
        proposals.append(kind.for_search(conditions) if isinstance(kind, SearchedByDefault) else None)
    return [proposal for proposal in proposals if proposal is not None]
