"""The penalties with a fixed strength: value and gradient compared with the formula in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from pydantic import ValidationError

from cnet.methods import METHODS, StepContext

Arrays = list[npt.NDArray[np.float64]]
NAMES = ["l1", "l2", "hoyer_square", "group_lasso"]


def arrays() -> Arrays:
    """A convolution of 3 filters and 2 channels with one filter of zeros, and a matrix."""
    rng = np.random.default_rng(3)
    convolution, matrix = rng.normal(size=(3, 2, 2, 2)), rng.normal(size=(4, 3))
    convolution[1] = 0
    return [convolution, matrix]


def parameters(values: Arrays) -> dict[str, torch.nn.Parameter]:
    """Parameters as the training loop gives them to a method, in float64 for a sharp comparison."""
    return {str(index): torch.nn.Parameter(torch.tensor(value)) for index, value in enumerate(values)}


def groups(axis: int) -> Callable[[Arrays], float]:
    """The formula that sums the norms over all axes but ``axis``."""
    return lambda ws: sum(
        float(np.linalg.norm(np.moveaxis(w, axis, 0).reshape(w.shape[axis], -1), axis=1).sum()) for w in ws
    )


CASES: list[tuple[str, dict[str, Any], Callable[[Arrays], float]]] = [
    ("l1", {}, lambda ws: sum(float(np.abs(w).sum()) for w in ws)),
    ("l2", {}, lambda ws: sum(float(np.square(w).sum()) for w in ws)),
    ("hoyer_square", {}, lambda ws: sum(float(np.abs(w).sum() ** 2 / np.square(w).sum()) for w in ws)),
    ("group_lasso", {}, groups(0)),
    ("group_lasso", {"groups": "channels"}, groups(1)),
    ("group_lasso", {"groups": "both"}, lambda ws: groups(0)(ws) + groups(1)(ws)),
]


@pytest.mark.parametrize(("name", "given", "formula"), CASES)
def test_value_and_gradient_are_the_formulas(
    name: str, given: dict[str, Any], formula: Callable[[Arrays], float]
) -> None:
    """Gradients are compared with central differences at non-zero weights."""
    values = arrays()
    weights = parameters(values)
    penalty = METHODS.create(name, lambda_=0.3, **given).hooks().penalty(weights, StepContext(0, 1))
    assert penalty is not None
    assert penalty.item() == pytest.approx(0.3 * formula(values))
    penalty.backward()
    for value, weight in zip(values, weights.values(), strict=True):
        assert weight.grad is not None
        for place in np.ndindex(*value.shape):
            was, step = value[place], 1e-6
            if was == 0:
                continue
            value[place] = was + step
            above = formula(values)
            value[place] = was - step
            below = formula(values)
            value[place] = was
            assert weight.grad[place].item() == pytest.approx(0.3 * (above - below) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_zeros_have_no_gradient_and_no_nan(name: str) -> None:
    """A tensor of zeros has a gradient of zero."""
    weights = parameters([np.zeros((3, 2)), np.ones((2, 2))])
    penalty = METHODS.create(name).hooks().penalty(weights, StepContext(0, 1))
    assert penalty is not None
    penalty.backward()
    assert weights["0"].grad is not None
    assert not weights["0"].grad.any()
    assert penalty.isfinite()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_computed_where_nothing_is_added(name: str) -> None:
    """The penalty is None for a λ of zero and for no compressible tensor."""
    assert METHODS.create(name, lambda_=0.0).hooks().penalty(parameters(arrays()), StepContext(0, 1)) is None
    assert METHODS.create(name).hooks().penalty({}, StepContext(0, 1)) is None


@pytest.mark.parametrize("name", NAMES)
def test_the_strength_is_called_lambda_in_json(name: str) -> None:
    """JSON and log use the name lambda; negative values are refused."""
    method = METHODS.get(name).model_validate({"name": name, "lambda": 0.5})
    assert method.strength(7) == 0.5
    assert method.model_dump(by_alias=True)["lambda"] == 0.5
    with pytest.raises(ValidationError):
        METHODS.get(name).model_validate({"name": name, "lambda": -1.0})


def test_hoyer_square_counts_equal_weights() -> None:
    """Of n weights of one magnitude each counts 1, whatever the magnitude."""
    weights = parameters([np.array([[3.0, -3.0, 3.0, 0.0, 0.0]])])
    penalty = METHODS.create("hoyer_square", lambda_=1.0).hooks().penalty(weights, StepContext(0, 1))
    assert penalty is not None
    assert penalty.item() == pytest.approx(3)


def test_group_lasso_removes_whole_filters() -> None:
    """A small gradient descent takes the weak filter to zero and leaves the strong one."""
    weights = parameters([np.array([[0.1, -0.1, 0.05], [3.0, -2.0, 1.0]])])
    method = METHODS.create("group_lasso", lambda_=1.0)
    for _ in range(30):
        penalty = method.hooks().penalty(weights, StepContext(0, 1))
        assert penalty is not None
        (gradient,) = torch.autograd.grad(penalty, list(weights.values()))
        weights["0"].data -= 0.01 * gradient
    weak, strong = weights["0"].detach().norm(dim=1)
    assert weak < 0.02
    assert strong > 3
