"""Errors that count by the loss's curvature along each weight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.errors import SpecError
from cnet.quantize import QUANTIZERS
from cnet.quantize._sensitivity import Sensitive
from cnet.spec import JobSpec

SHAPES = [(40, 50), (20, 50)]
COUNT = 3000
ALL = np.ones(COUNT, np.bool_)


def ecsq(**parameters: object) -> Sensitive:
    """The quantizer that is sensitive."""
    quantizer = QUANTIZERS.create("ecsq", **parameters)
    assert isinstance(quantizer, Sensitive)
    return quantizer


def values() -> npt.NDArray[np.float32]:
    """Weights of both layers, of one distribution."""
    return np.random.default_rng(0).laplace(size=COUNT).astype(np.float32)


def squared_errors(quantizer: Sensitive, curvature: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of each weight."""
    found = quantizer.symbols(values(), ALL, None, SHAPES, curvature).vector()
    squares: npt.NDArray[np.float64] = (found.astype(np.float64) - values()) ** 2
    return squares


def test_importance_is_a_power_of_the_damped_curvature() -> None:
    """(h + 5 % of the mean)^s over the kept, divided by its geometric mean."""
    curvature = np.array([0.0, 1.0, 4.0, 1e9])
    keep = np.array([True, True, True, False])
    expected = np.sqrt(curvature[:3] + 0.05 * 5 / 3)
    expected /= np.exp(np.log(expected).mean())

    np.testing.assert_allclose(ecsq(sensitivity=0.5).importance(curvature, keep)[:3], expected, rtol=1e-6)


def test_pruned_weights_may_have_any_curvature() -> None:
    """Far more than fits the type of what errors count, which is finite for all; the kept ones' is as without it."""
    quantizer, keep = ecsq(sensitivity=1.0), np.arange(COUNT) % 3 > 0
    curvature = np.where(keep, np.linspace(1, 2, COUNT), 0)

    found = quantizer.importance(np.where(keep, curvature, 1e200), keep)

    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[keep], quantizer.importance(curvature, keep)[keep])


@pytest.mark.parametrize("keep", [ALL, ~ALL])
def test_zero_curvature_weighs_all_errors_equally(keep: npt.NDArray[np.bool_]) -> None:
    """The same holds where no weight is kept."""
    assert (ecsq(sensitivity=1.0).importance(np.zeros(COUNT), keep) == 1).all()


@pytest.mark.parametrize("scope", ["network", "layer"])
def test_equal_curvature_changes_nothing(scope: str) -> None:
    """The symbols are those without it, to the bit."""
    quantizer = ecsq(sensitivity=1.0, scope=scope)
    weighted = quantizer.symbols(values(), ALL, None, SHAPES, np.full(COUNT, 7.0))
    plain = quantizer.symbols(values(), ALL, None, SHAPES)

    assert weighted.vector().tobytes() == plain.vector().tobytes()


@pytest.mark.parametrize("states", [1, 32])
def test_what_the_loss_misses_less_is_stored_less_exactly(states: int) -> None:
    """Every other weight matters a hundred times more: it gets the smaller error, and the loss the smaller harm."""
    curvature = np.where(np.arange(COUNT) % 2, 100.0, 1.0)
    blind = squared_errors(ecsq(states=states, mu=4.0), np.ones(COUNT))
    seeing = squared_errors(ecsq(states=states, mu=4.0, sensitivity=1.0), curvature)

    assert blind[1::2].mean() == pytest.approx(blind[::2].mean(), rel=0.1)
    assert seeing[1::2].mean() < 0.7 * seeing[::2].mean()
    assert curvature @ seeing < 0.9 * (curvature @ blind)


def test_layers_compare_by_their_curvature() -> None:
    """One grid for each: the layer that matters more is stored more exactly."""
    curvature = np.repeat([100.0, 1.0], [2000, 1000])
    errors = squared_errors(ecsq(scope="layer", mu=2.0, sensitivity=1.0), curvature)

    assert errors[:2000].mean() < 0.7 * errors[2000:].mean()


def test_sensitivity_needs_a_data_set() -> None:
    """Without a data set there is no curvature: the job is refused, and accepted without the sensitivity."""
    spec = {"checkpoint": "c", "quantize": {"name": "ecsq", "sensitivity": 0.5}}

    with pytest.raises(SpecError, match=r"quantize without a dataset: sensitivity"):
        JobSpec.parse(spec)
    assert not JobSpec.parse({**spec, "quantize": {"name": "ecsq"}}).trains
