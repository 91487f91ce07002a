"""The search on made-up nets whose every candidate is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.results.points import Point
from cnet.search import CandidateGrid, propose_candidates
from cnet.search.proposal import CandidateSearch
from cnet.spec import JobSpec, Target
from tests.unit.cnet.points_at_hand import a_point
from tests.unit.cnet.search.landscapes import ACCURACY, Landscape, accuracies, errors, noise_of, sizes


def _spec(**members: Any) -> JobSpec:
    return JobSpec.parse({"checkpoint": "ckpt_1", "target": {"min_ratio": 2}, **members})


EVERYTHING = CandidateGrid.of(_spec(architecture="lenet5", dataset="digits"))
CLUSTERS = CandidateGrid.of(_spec(quantize={"name": "kmeans"}))


def _net(grid: CandidateGrid, values: Any) -> Landscape:
    return Landscape(grid, sizes(grid), values, errors(grid))


def _cliffs(grid: CandidateGrid, halvings: float, bits: float, width: float = 0.3, noise: float = 0.0) -> Landscape:
    noises = np.random.default_rng(0).normal(0.0, 1.0, len(grid.candidates)) * noise
    return _net(grid, accuracies(grid, halvings, bits, width, noises))


@dataclass(frozen=True)
class Shape:
    """Of a landscape: see ``accuracies``; ``fit`` as of ``sizes``, ``drop`` what may be lost, ``seed`` of the noise."""

    halvings: float
    bits: float
    width: float
    fit: float
    drop: float
    seed: int


def _excess(grid: CandidateGrid, shape: Shape) -> float:
    """Bytes of the search's best over those of the whole grid, found in at most a quarter of its evaluations."""
    noise = noise_of(10_000, shape.seed, grid)
    values = accuracies(grid, shape.halvings, shape.bits, shape.width, noise)
    net = Landscape(grid, sizes(grid, shape.fit), values, errors(grid))
    target = Target(max_accuracy_drop=shape.drop)
    rows, points = net.search(target, 10_000)
    assert len(rows) <= len(grid.candidates) / 4
    best = net.best(target)
    met = [p.bytes.total for p in points if ACCURACY - (p.accuracy or 0.0) <= shape.drop]
    return min(met, default=10**9) / best.bytes.total if best else 1.0


@given(
    shape=st.builds(
        Shape,
        halvings=st.floats(1.0, 8.0),
        bits=st.floats(1.0, 5.0),
        width=st.floats(0.15, 0.6),
        fit=st.floats(0.8, 1.0),
        drop=st.floats(0.2, 5.0),
        seed=st.integers(0, 2**16),
    )
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_accuracy_target_selects_nearly_the_smallest_file(shape: Shape) -> None:
    """At most a quarter above the smallest of the whole grid, whatever the shape of the losses and the noise."""
    assert _excess(CLUSTERS, shape) <= 1.25


def test_accuracy_target_is_almost_always_within_a_tenth_of_the_smallest() -> None:
    """Two landscapes of fifty may be worse: there the best is one lucky candidate among many that just miss."""
    rng = np.random.default_rng(5)
    drawn = rng.uniform([1.0, 1.0, 0.15, 0.8, 0.2], [8.0, 5.0, 0.6, 1.0, 5.0], (50, 5))
    shapes = [Shape(*map(float, row), seed=seed) for seed, row in enumerate(drawn)]
    found = [_excess((CLUSTERS, EVERYTHING)[shape.seed % 2], shape) for shape in shapes]
    assert sum(excess > 1.1 for excess in found) <= 2
    assert np.mean(found) <= 1.02


@pytest.mark.parametrize("images", [50, 360, 1000])
def test_few_choice_samples_cost_little(images: int) -> None:
    """Accuracies come in steps and many are equal; on the whole the file is as small within a few percent."""
    ratios = []
    for seed in range(12):
        drawn = accuracies(CLUSTERS, 2.0 + seed / 3, 3.0, 0.4, noise_of(images, seed, CLUSTERS))
        net = _net(CLUSTERS, np.rint(drawn * images / 100) / images * 100)
        target = Target(max_accuracy_drop=1.0)
        rows, points = net.search(target, images)
        best = net.best(target)
        assert best is not None
        assert len(rows) <= len(CLUSTERS.candidates) / 4
        met = [p.bytes.total for p in points if (p.accuracy or 0.0) >= ACCURACY - 1.0 - 1e-9]
        ratios.append(min(met) / best.bytes.total)
    assert np.mean(ratios) < 1.1


def test_unreachable_accuracy_target_ends_soon_after_the_gentlest_candidate() -> None:
    """No candidate comes near; the one that prunes least and rounds least is among the tried."""
    net = _cliffs(EVERYTHING, -10.0, 20.0)
    rows, points = net.search(Target(max_accuracy_drop=0.5), 10_000)
    gentlest = EVERYTHING.candidates[rows[-1]]
    assert len(points) <= 16
    assert (gentlest.sparsity, gentlest.clusters) == (0.0, 256)


def test_accuracy_target_that_only_the_unpruned_network_meets_is_found() -> None:
    """Pruning at any sparsity loses too much accuracy."""
    net = _cliffs(CLUSTERS, -0.9, 1.0, width=0.2)
    net = _net(CLUSTERS, np.where(CLUSTERS.coordinates.halvings > 0, 50.0, ACCURACY))
    target = Target(max_accuracy_drop=0.5)
    _, points = net.search(target, 10_000)
    assert max(point.accuracy or 0.0 for point in points) == ACCURACY


def test_a_network_without_accuracy_loss_gets_nearly_the_smallest_file() -> None:
    """Nearly the smallest candidate of all, in few evaluations."""
    net = _net(EVERYTHING, np.full(len(EVERYTHING.candidates), ACCURACY))
    _, points = net.search(Target(max_accuracy_drop=0.0), 10_000)
    assert min(point.bytes.total for point in points) <= 1.05 * net.sizes.min()
    assert len(points) <= 10


def test_accuracy_that_first_rises_with_sparsity_is_handled() -> None:
    """Pruning helps up to a point: the best sparsity is beyond what the unpruned network suggests."""
    values = accuracies(CLUSTERS, 5.0, 3.0, 0.3, np.minimum(CLUSTERS.coordinates.halvings, 4.0) * 0.5)
    net = _net(CLUSTERS, values)
    target = Target(max_accuracy_drop=0.0)
    _, points = net.search(target, 10_000)
    best = net.best(target)
    assert best is not None
    met = [point.bytes.total for point in points if (point.accuracy or 0.0) >= ACCURACY]
    assert min(met) <= 1.1 * best.bytes.total


@given(share=st.floats(0.02, 0.9), fit=st.floats(0.8, 1.0))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_size_target_selects_nearly_the_lowest_error(share: float, fit: float) -> None:
    """Without accuracies: the lowest mse that fits within a fifth, in few evaluations."""
    net = Landscape(CLUSTERS, sizes(CLUSTERS, fit), None, errors(CLUSTERS))
    low, high = net.sizes.min(), net.sizes.max()
    target = Target(max_bytes=int(low + share * (high - low)))
    rows, points = net.search(target)
    best = net.best(target)
    assert best is not None
    assert len(rows) <= 20
    assert min(p.mse for p in points if p.bytes.total <= (target.max_bytes or 0)) <= 1.2 * best.mse


@given(ratio=st.floats(6.0, 60.0), halvings=st.floats(2.0, 7.0), bits=st.floats(1.0, 5.0))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_ratio_target_selects_nearly_the_most_accurate(ratio: float, halvings: float, bits: float) -> None:
    """Within half a point of the best accuracy that fits."""
    net = _cliffs(CLUSTERS, halvings, bits)
    target = Target(min_ratio=ratio)
    _, points = net.search(target, 10_000)
    best = net.best(target)
    met = [point.accuracy or 0.0 for point in points if net.baseline.npz_bytes / point.bytes.total >= ratio]
    assert best is None or max(met) >= (best.accuracy or 0.0) - 0.5


def test_unreachable_size_target_ends_after_the_smallest_candidate() -> None:
    """One evaluation is enough to see it."""
    net = Landscape(EVERYTHING, sizes(EVERYTHING), None, errors(EVERYTHING))
    rows, points = net.search(Target(max_bytes=100))
    assert len(points) <= 2
    assert net.sizes[rows[-1]] <= 1.05 * net.sizes.min()


def test_each_of_few_candidates_is_made_at_most_once() -> None:
    """Eight cluster counts at one sparsity."""
    grid = CandidateGrid.of(_spec(prune={"name": "magnitude", "sparsity": 0.9}, quantize={"name": "kmeans"}))
    rows, _ = _cliffs(grid, 6.0, 3.2).search(Target(max_accuracy_drop=0.5), 10_000)
    assert len(set(rows)) == len(rows) <= 8


def test_no_more_sparsities_are_trained_than_allowed() -> None:
    """The bound that progress and estimate count with."""
    noisy = _cliffs(EVERYTHING, 4.0, 3.0, width=1.5, noise=2.0)
    rows, _ = noisy.search(Target(max_accuracy_drop=1.0), 100)
    assert len({EVERYTHING.candidates[row].sparsity for row in rows}) <= EVERYTHING.max_sparsities
    assert len(rows) <= EVERYTHING.max_points


def test_candidates_follow_the_points() -> None:
    """The generator gives what the search proposes, from the caller's growing list."""
    net, target = _cliffs(CLUSTERS, 4.0, 3.0), Target(max_accuracy_drop=0.5)
    points: list[Point] = []
    tried = []
    for candidate in propose_candidates(CLUSTERS, target, net.search_inputs(10_000), points):
        row = CLUSTERS.candidates.index(candidate)
        tried.append(row)
        points.append(net.point(row, len(points)))
    assert tried == net.search(target, 10_000)[0]


def test_a_sparsity_that_ruins_fine_labels_ends_all_higher_ones() -> None:
    """More bits cannot save what pruning has ruined, so that no higher sparsity is trained."""
    target, search_inputs = Target(max_accuracy_drop=0.5), _cliffs(EVERYTHING, 2.0, 1.0).search_inputs(10_000)
    search = CandidateSearch(EVERYTHING, target, search_inputs)
    rows = [
        next(row for row, one in enumerate(EVERYTHING.candidates) if one.sparsity == sparsity and one.bits >= bits)
        for sparsity, bits in ((0.0, 5.0), (EVERYTHING.sparsities[-8], 5.0))
    ]
    points = [a_point(0, 200_000, ACCURACY), a_point(1, 20_000, 10.0)]

    proposed = search.propose(rows, points)

    assert proposed is not None
    assert EVERYTHING.candidates[proposed].sparsity < EVERYTHING.sparsities[-8]
