"""Damage that targets limit without labels: which points meet it, and that a search finds the smallest that does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cnet.errors import ConstraintNotMetError
from cnet.results.points import Point
from cnet.search import CandidateGrid, Forecast, SearchInputs, meets_target, propose_candidates, select_point
from cnet.search.damage import Damage
from cnet.spec import JobSpec, Target
from tests.unit.cnet.points_at_hand import a_baseline, a_point

POINTS = [
    replace(a_point(0, 900, mse=1e-6), snr_db=40.0, kl=0.001, agreement=100.0),
    replace(a_point(1, 500, mse=1e-5), snr_db=30.0, kl=0.02, agreement=97.0, output_snr_db=25.0),
    replace(a_point(2, 300, mse=1e-4), snr_db=20.0, kl=0.3, agreement=80.0, output_snr_db=12.0),
]


@pytest.mark.parametrize(
    ("target", "index"),
    [
        (Target(max_kl=0.3), 2),
        (Target(max_kl=0.1), 1),
        (Target(max_kl=0.001), 0),
        (Target(min_agreement=97), 1),
        (Target(min_agreement=100), 0),
        (Target(min_snr=20), 2),
        (Target(min_snr=30.5), 0),
        (Target(min_output_snr=25), 1),
    ],
)
def test_the_smallest_that_has_changed_no_more_is_selected(target: Target, index: int) -> None:
    """A point exactly at the limit meets it."""
    assert select_point(target, a_baseline(None), POINTS) == index


def test_choices_are_made_on_the_validation_split() -> None:
    """Where there is one."""
    lucky = replace(POINTS[1], kl_validation=0.5, agreement_validation=70.0, output_snr_db_validation=9.0)

    assert not meets_target(Target(max_kl=0.1), a_baseline(None), lucky)
    assert not meets_target(Target(min_agreement=90), a_baseline(None), lucky)
    assert not meets_target(Target(min_output_snr=20), a_baseline(None), lucky)


def test_a_network_that_has_not_changed_meets_every_limit() -> None:
    """Its ratio has no number."""
    same = replace(a_point(0, 900, mse=0.0), snr_db=None, kl=0.0, agreement=100.0, output_snr_db=150)

    limits = (Target(max_kl=0.0), Target(min_agreement=100), Target(min_snr=300), Target(min_output_snr=150))
    for target in limits:
        assert meets_target(target, a_baseline(None), same)


def test_what_was_not_measured_meets_no_limit() -> None:
    """And the error says so, with what to do."""
    blind = [a_point(0, 900, mse=1e-4)]

    with pytest.raises(ConstraintNotMetError, match=r"it was measured of none\. .*set a weaker target\.$"):
        select_point(Target(max_kl=0.1), a_baseline(None), blind)


def test_the_error_tells_how_near_the_best_point_came() -> None:
    """All that is known of it."""
    with pytest.raises(ConstraintNotMetError, match=r"KL 0.001, agreement 100, .* of the weights 40"):
        select_point(Target(max_kl=0.0001), a_baseline(None), POINTS)


def test_other_targets_limit_no_damage() -> None:
    """They have their own scale."""
    assert Damage.of(Target(max_bytes=5), np.zeros(3)) is None
    assert Damage.of(Target(max_accuracy_drop=5), np.zeros(3)) is None


@pytest.mark.parametrize(
    "target", [{"max_kl": 0.03}, {"min_agreement": 98.0}, {"min_snr": 25.0}, {"min_output_snr": 22.0}]
)
def test_a_search_finds_the_smallest_that_meets_the_target(target: dict[str, float]) -> None:
    """Of forty, in few points; nothing before tells how much the outputs mind the noise."""
    spec = JobSpec.parse({"checkpoint": "c", "target": {"min_snr": 1.0}})
    grid, limit = CandidateGrid.of(spec), Target(**target)
    vector = np.random.default_rng(0).normal(size=20000)
    inputs = SearchInputs(a_baseline(None), Forecast.of(grid, vector, a_baseline(None)))

    def made(row: int, index: int) -> Point:
        noise = 10 ** (-grid.candidates[row].bits * 0.602)
        kl = min(3.0, 20 * noise ** (1 + noise))
        size = int(np.exp(inputs.forecast.sizes[row]) * 1.07)
        snr = -10 * math.log10(noise)
        damage = {"kl": kl, "agreement": 100 - 40 * math.sqrt(kl / 3), "output_snr_db": -10 * math.log10(kl / 8)}
        return replace(a_point(index, size, mse=noise), snr_db=snr, **damage)

    points: list[Point] = []
    for candidate in propose_candidates(grid, limit, inputs, points):
        points.append(made(grid.candidates.index(candidate), len(points)))
    best = select_point(limit, a_baseline(None), points)
    everything = [made(row, row) for row in range(len(grid.candidates))]

    assert points[best].bytes.total == everything[select_point(limit, a_baseline(None), everything)].bytes.total
    assert len(points) <= 9
