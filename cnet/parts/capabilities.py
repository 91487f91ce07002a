"""What the pipeline, the search, the specification and the report may ask of any part.

A part has a capability if it has the members of that protocol. Whoever uses a part asks for the capability, never for
the part's class or name, so that a part from another package is treated like one of ours. Most answers depend on the
part's settings: a pruner needs a data set only where it prunes gradually. The functions below give the answer of a
part that lacks the capability too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from cnet.parts.registry import Part

PartT = TypeVar("PartT", bound=Part)

Curvature = npt.NDArray[np.float64]
"""Diagonal of the Hessian of the loss, or an estimate of it: shape (n,) in the order of w_net, not negative."""


@runtime_checkable
class NeedsData(Protocol):
    """A part that cannot work without a data set under some of its settings."""

    @property
    def needs_data(self) -> str | None:
        """Why these settings need a data set, and in a second sentence what to do without one; None: they need none."""


@runtime_checkable
class NeedsCurvature(Protocol):
    """A part that uses the curvature of the loss under some of its settings."""

    @property
    def needs_curvature(self) -> bool:
        """Whether these settings use the curvature of the loss along each weight, which is measured on a data set."""


@runtime_checkable
class Streamable(Protocol):
    """A part that can work on a model larger than memory under some of its settings."""

    @property
    def streams(self) -> bool:
        """Whether these settings work on weights that are read chunk by chunk, several times if need be."""


@runtime_checkable
class Searchable(Protocol):
    """A part one of whose fields can be chosen by a search for a target."""

    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]]
    """The fields that can be searched, the preferred one first, each with its values from fine to coarse."""


@runtime_checkable
class SearchedUnless(Protocol):
    """A searchable part with fields that say in other words what its searched field says."""

    searched_unless: ClassVar[frozenset[str]]
    """Nothing is searched where one of these fields has a value."""


@dataclass(frozen=True)
class SearchConditions:
    """What a quantizer can take into account when it proposes itself for a search.

    Attributes:
        context_rates: whether the job's encoder spends on each label the bits that ``cnet.coding.rates`` predicts.
        trains_centroids: whether the job trains the centroids after quantizing.
        trains: whether the job has a data set to train on.
        calibrates: whether the job has calibration inputs.
    """

    context_rates: bool
    trains_centroids: bool
    trains: bool = True
    calibrates: bool = False


@runtime_checkable
class SearchedByDefault(Protocol):
    """A quantizer that a search tries where the job names no quantizer."""

    @classmethod
    def for_search(cls, conditions: SearchConditions) -> Self | None:
        """The settings to search from, with a field of ``search_grid`` left unset; None: do not try this quantizer."""


@runtime_checkable
class Calibratable(Protocol):
    """A quantizer whose labels are chosen by what their errors do to the network's outputs on calibration inputs."""

    @property
    def expected_divergence(self) -> float:
        """Divergence of the outputs from those of the original network that is asked for, in nats."""

    @property
    def mu(self) -> float:
        """Price of a bit, relative to the one that suits most networks."""

    @property
    def largest_step(self) -> float:
        """Largest step size of a tensor, in root mean squares of its weights."""

    @property
    def feedback(self) -> bool:
        """Whether labels by error feedback are tried as well."""


@runtime_checkable
class ReportsSettings(Protocol):
    """A part with settings that the report shows for each point."""

    @property
    def reported_settings(self) -> Mapping[str, float]:
        """The settings by the name of their column (``step``, ``mu``)."""


def reason_for_data(part: object) -> str | None:
    """Why ``part`` needs a data set and what to do without one; None where it needs none."""
    return part.needs_data if isinstance(part, NeedsData) else None


def needs_curvature(part: object) -> bool:
    """Whether ``part`` uses the curvature of the loss."""
    return isinstance(part, NeedsCurvature) and part.needs_curvature


def streams(part: object) -> bool:
    """Whether ``part`` works on weights that are read chunk by chunk."""
    return isinstance(part, Streamable) and part.streams


def reported_settings(part: object) -> Mapping[str, float]:
    """The settings of ``part`` that the report shows; empty where there are none."""
    return part.reported_settings if isinstance(part, ReportsSettings) else {}


def searched_field(part: Part) -> str | None:
    """The field of ``part`` that a search chooses: the first of its ``search_grid`` that the user has not set."""
    if not isinstance(part, Searchable):
        return None
    if isinstance(part, SearchedUnless) and any(getattr(part, name) is not None for name in part.searched_unless):
        return None
    return next((name for name in part.search_grid if name not in part.model_fields_set), None)


def search_variants(part: PartT) -> tuple[PartT, ...]:
    """``part`` with each value of its searched field, from fine to coarse; ``part`` alone where nothing is searched."""
    field = searched_field(part)
    if field is None:
        return (part,)
    return tuple(part.model_copy(update={field: value}) for value in cast(Searchable, part).search_grid[field])
