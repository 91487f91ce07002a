"""Capabilities: what any part answers, whether it has the capability or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest

from cnet.coding import ENCODERS
from cnet.methods import METHODS
from cnet.parts.capabilities import (
    SearchConditions,
    SearchedByDefault,
    needs_curvature,
    reason_for_data,
    reported_settings,
    search_variants,
    searched_field,
    streams,
)
from cnet.parts.registry import Part
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS


class Plain(Part):
    """A part without any capability."""

    name: Literal["plain"] = "plain"


class Able(Part):
    """A part of nobody's kind with every capability."""

    name: Literal["able"] = "able"
    coarse: int = 1
    fine: int = 1
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"fine": (3, 2), "coarse": (9,)}
    needs_curvature: ClassVar[bool] = True
    streams: ClassVar[bool] = True

    @property
    def needs_data(self) -> str | None:
        """A reason that depends on the settings."""
        return "it looks. Do not let it." if self.coarse > 1 else None

    @property
    def reported_settings(self) -> Mapping[str, float]:
        """One column."""
        return {"step": float(self.fine)}


def test_a_part_without_capabilities_needs_nothing_and_offers_nothing() -> None:
    """Every question has an answer."""
    part = Plain()

    assert (reason_for_data(part), needs_curvature(part), streams(part)) == (None, False, False)
    assert (reported_settings(part), searched_field(part), search_variants(part)) == ({}, None, (part,))


def test_a_part_is_asked_whatever_its_class() -> None:
    """The members of a protocol are enough."""
    part = Able()

    assert (needs_curvature(part), streams(part), reported_settings(part)) == (True, True, {"step": 1.0})
    assert reason_for_data(part) is None
    assert reason_for_data(Able(coarse=2)) == "it looks. Do not let it."


def test_the_first_field_that_the_user_left_out_is_searched() -> None:
    """From fine to coarse; nothing where all are named."""
    assert [part.fine for part in search_variants(Able())] == [3, 2]
    assert [part.coarse for part in search_variants(Able(fine=5))] == [9]
    assert searched_field(Able(fine=1, coarse=1)) is None


@pytest.mark.parametrize(
    ("part", "needed"),
    [
        (PRUNERS.create("magnitude"), False),
        (PRUNERS.create("magnitude", gradual={"epochs": 3}), True),
        (PRUNERS.create("obd"), True),
        (QUANTIZERS.create("ecsq"), False),
        (QUANTIZERS.create("ecsq", sensitivity=0.5), True),
        (METHODS.create("l1"), True),
        (METHODS.create("cnet"), True),
        (METHODS.create("cnet", **{"lambda": 0.1}), False),
        (ENCODERS.create("compact"), False),
    ],
)
def test_parts_say_whether_they_need_data(part: Part, needed: bool) -> None:
    """With a reason of two sentences: why, and what to do."""
    reason = reason_for_data(part)

    assert (reason is not None) is needed
    if reason is not None:
        assert reason.count(". ") >= 1
        assert reason.endswith(".")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (PRUNERS.create("magnitude"), True),
        (PRUNERS.create("magnitude", scope="layer"), False),
        (PRUNERS.create("lamp"), False),
        (QUANTIZERS.create("kmeans"), True),
        (QUANTIZERS.create("kmeans", scope="layer"), False),
        (QUANTIZERS.create("none"), True),
        (QUANTIZERS.create("ecsq"), False),
        (ENCODERS.create("compact"), True),
        (ENCODERS.create("npz"), False),
    ],
)
def test_parts_say_whether_they_stream(part: Part, expected: bool) -> None:
    """It depends on their settings."""
    assert streams(part) is expected


def test_quantizers_propose_themselves_for_a_search() -> None:
    """Only where the encoder suits them, and ``auto`` where nothing is trained; others never."""
    suited, unsuited = (SearchConditions(context_rates=rates, trains_centroids=False) for rates in (True, False))
    untrained = SearchConditions(context_rates=True, trains_centroids=False, trains=False)
    found = {}
    for name in QUANTIZERS.names():
        kind = QUANTIZERS.get(name)
        if isinstance(kind, SearchedByDefault):
            found[name] = [kind.for_search(conditions) is not None for conditions in (suited, unsuited, untrained)]

    assert found == {
        "auto": [False, False, True],
        "calibrated": [False, False, False],
        "ecsq": [True, False, True],
        "kmeans": [True, True, True],
    }
    calibrating = SearchConditions(context_rates=True, trains_centroids=False, trains=False, calibrates=True)
    calibrated = QUANTIZERS.get("calibrated")
    assert isinstance(calibrated, SearchedByDefault)
    assert calibrated.for_search(calibrating) is not None
