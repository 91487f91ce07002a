"""The proximal step of cnet without data: its objective, its critical points, and its effect in a job."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.errors import CheckpointError, SpecError
from cnet.formats import read_checkpoint
from cnet.methods.proximal import critical_point, zero_small_weights
from cnet.pipeline import Inputs, Outcome, SilentRunObserver, run
from cnet.weights import Tensor, Weights
from tests.real_files import real_file
from tests.unit.cnet.pipeline.small_jobs import weights_spec

Float64Array = npt.NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
STRENGTHS = st.floats(0.01, 0.9)


def laplace(seed: int, small: float = 1e-3) -> Weights:
    """Two layers of heavy-tailed weights, the second ``small`` times as large as the first, and a bias."""
    rng = np.random.default_rng(seed)
    arrays = {"a": rng.laplace(size=(12, 25)), "b": small * rng.laplace(size=(30, 12)), "bias": rng.normal(size=30)}
    return Weights.select([Tensor(name, "float32", array.astype(np.float32)) for name, array in arrays.items()])


def scaled(weights: Weights) -> Float64Array:
    """w_net with each tensor divided by its root mean square."""
    parts = [weights[name].values().astype(np.float64).reshape(-1) for name in weights.compressible]
    return np.concatenate([part / np.sqrt(np.mean(part**2)) for part in parts])


def objective(v: Float64Array, given_: Float64Array, strength: float) -> float:
    """The objective F, computed from its definition."""
    loss = np.abs(v).sum() / np.linalg.norm(v)
    return float(strength * np.sqrt(len(v)) * loss + np.sum((v - given_) ** 2) / 2)


def solution(weights: Weights, strength: float) -> tuple[Float64Array, Float64Array]:
    """The critical point v, and the start v₀."""
    point, start = critical_point(weights, strength), scaled(weights)
    return point.scale * np.sign(start) * np.maximum(np.abs(start) - point.threshold, 0), start


@settings(deadline=None)
@given(SEEDS, STRENGTHS)
def test_objective_falls_with_each_step_to_that_of_the_solution(seed: int, strength: float) -> None:
    """F at the start and at the solution are compared with its definition."""
    weights = laplace(seed)
    path = critical_point(weights, strength).objective
    v, start = solution(weights, strength)

    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(path))
    assert path[1] < path[0]
    assert path[0] == pytest.approx(objective(start, start, strength))
    assert path[-1] == pytest.approx(objective(v, start, strength))


@settings(deadline=None)
@given(SEEDS, STRENGTHS)
def test_every_weight_is_stationary(seed: int, strength: float) -> None:
    """At a non-zero the gradients of loss and error cancel; at a zero that of the error is small enough."""
    v, start = solution(laplace(seed), strength)
    l1, l2, factor = np.abs(v).sum(), np.linalg.norm(v), strength * np.sqrt(len(v))
    gradient = factor * (np.sign(v) / l2 - v * l1 / l2**3) + v - start

    assert np.max(np.abs(gradient[v != 0])) < 1e-6
    assert np.all(np.abs(start[v == 0]) <= factor / l2 * (1 + 1e-8))
    assert np.all(v[v != 0] * start[v != 0] > 0)


def test_objective_is_no_lower_nearby() -> None:
    """Small random steps away from the critical point raise F."""
    weights = laplace(5)
    v, start = solution(weights, 0.4)
    rng = np.random.default_rng(0)
    steps = 1e-3 * rng.normal(size=(200, len(v)))

    assert min(objective(v + step, start, 0.4) for step in steps) > objective(v, start, 0.4)


def test_equal_magnitudes_do_not_change_as_theorem_1_states() -> None:
    """Weights of -c, 0 and c are critical points of the loss itself, so that no λ changes them."""
    values = np.array([[-2.0, 0, 2], [2, 2, 0]], np.float32)
    weights = Weights.select([Tensor("w", "float32", values)])
    v, start = solution(weights, 0.5)

    np.testing.assert_allclose(v, start, rtol=1e-9)
    assert zero_small_weights(weights, 0.5)["w"].data.tobytes() == values.tobytes()


def test_lambda_zero_changes_no_bit() -> None:
    """The weights come back as they are."""
    weights = laplace(1)
    assert critical_point(weights, 0.0).threshold == 0
    assert zero_small_weights(weights, 0.0).vector().tobytes() == weights.vector().tobytes()


@given(SEEDS)
@settings(deadline=None, max_examples=20)
def test_a_larger_lambda_gives_more_zeros_and_keeps_the_other_values(seed: int) -> None:
    """Zeros of a smaller λ stay zeros, and the bias does not change."""
    weights = laplace(seed)
    vector, before = weights.vector(), np.zeros(len(weights.vector()), np.bool_)
    for strength in (0.1, 0.3, 0.6, 0.9):
        after = zero_small_weights(weights, strength)
        zero = after.vector() == 0
        assert np.all(zero[before])
        assert zero.sum() > before.sum()
        assert np.array_equal(after.vector()[~zero], vector[~zero])
        assert after["bias"].data.tobytes() == weights["bias"].data.tobytes()
        before = zero


def test_layers_of_any_size_are_treated_alike() -> None:
    """A layer 1e3 or 1e30 times smaller gets the same zeros; a layer of zeros changes nothing."""
    near, far, least = (zero_small_weights(laplace(2, small), 0.5) for small in (1.0, 1e-3, 1e-30))
    assert np.array_equal(near["b"].data == 0, far["b"].data == 0)
    assert np.array_equal(near["b"].data == 0, least["b"].data == 0)
    assert 0 < np.count_nonzero(far["b"].data) < far["b"].size
    zeros = Weights.select([*laplace(2).tensors, Tensor("z", "float32", np.zeros((2, 2), np.float32))])
    assert zero_small_weights(zeros, 0.5)["b"].data.tobytes() == far["b"].data.tobytes()


def test_lambda_means_the_same_for_nets_of_every_size() -> None:
    """The same weights four times over have the same threshold."""
    one = laplace(3)
    four = Weights.select([Tensor(f"{i}{t.name}", t.dtype, t.data) for i in range(4) for t in one])
    assert critical_point(four, 0.4).threshold == pytest.approx(critical_point(one, 0.4).threshold)


def test_a_problem_without_a_solution_is_refused() -> None:
    """A λ that would leave no weight, and weights that are NaN, are errors."""
    with pytest.raises(SpecError, match="Use a smaller lambda"):
        zero_small_weights(laplace(0), 900.0)
    broken = Weights.select([Tensor("w", "float32", np.array([[1, np.nan]], np.float32))])
    with pytest.raises(CheckpointError, match="NaN"):
        zero_small_weights(broken, 0.1)


def _job(folder: Path, weights: Weights, strength: float) -> Outcome:
    members = {"method": {"name": "cnet", "lambda": strength}, "prune": None}
    return run(
        weights_spec(**members, quantize={"name": "kmeans", "clusters": 16}),
        Inputs(weights, None, folder),
        SilentRunObserver(),
    )


def test_the_error_of_a_job_is_measured_against_the_checkpoint(tmp_path: Path) -> None:
    """Weights that the method set to zero count as errors."""
    weights = laplace(4, small=1.0)
    point = _job(tmp_path, weights, 0.5).points[0]
    lost = np.sum((weights.vector() - zero_small_weights(weights, 0.5).vector()) ** 2) / weights.compressible_parameters
    assert point.sparsity == np.mean(zero_small_weights(weights, 0.5).vector() == 0) > 0.3
    assert point.mse > lost > 0


@pytest.mark.real
def test_a_larger_lambda_gives_a_smaller_file_of_a_real_network(tmp_path: Path) -> None:
    """Bytes fall and the error grows with λ, at the same number of clusters."""
    weights = read_checkpoint(real_file("checkpoints/resnet20-12fca82f.th")).weights
    points = [_job(tmp_path / str(strength), weights, strength).points[0] for strength in (0.0, 0.3, 0.6, 0.9)]
    sizes, errors = [point.bytes.total for point in points], [point.mse for point in points]
    assert sizes == sorted(sizes, reverse=True)
    assert errors == sorted(errors)
    assert [point.sparsity > 0.2 for point in points] == [False, True, True, True]
