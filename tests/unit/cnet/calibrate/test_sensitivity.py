"""How sensitive the outputs of a network are to its weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cnet.calibrate.sensitivity import TensorFisher, fisher_by_axis
from cnet.observer import SilentObserver
from cnet.training.tasks.comparison import ClassComparison, NumberComparison


class Steps(nn.Module):
    """One layer, whose classes are those of so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 5)
        self.steps = steps

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of the shape (batch, steps, classes)."""
        logits: Tensor = self.layer(inputs)
        return logits[:, None].expand(-1, self.steps, -1)


def measured(module: Steps, halves: list[list[tuple[Tensor]]]) -> TensorFisher:
    """Of the layer of a module that gives logits."""
    weights = {"w": module.layer.weight}
    return fisher_by_axis(module, weights, halves, ClassComparison(), SilentObserver(), lambda _: None)["w"]


def sensitivity(steps: int) -> TensorFisher:
    """Of the layer, on 200 inputs in each half."""
    torch.manual_seed(0)
    module = Steps(steps).eval()
    samples = [(torch.randn(1, 4),) for _ in range(400)]
    halves = [samples[:200], samples[200:]]
    return fisher_by_axis(
        module, {"w": module.layer.weight}, halves, ClassComparison(), SilentObserver(), lambda _: None
    )["w"]


def test_several_decisions_of_a_sample_count_as_their_mean() -> None:
    """The divergence of a line of text is the mean over its steps."""
    assert sensitivity(8).mean == pytest.approx(sensitivity(1).mean, rel=0.2)


def test_rows_and_columns_have_their_own_mean() -> None:
    """Gradients are those of outputs times inputs, and the inputs of column 1 are ten times as large."""
    torch.manual_seed(0)
    module = Steps(1).eval()
    torch.nn.init.zeros_(module.layer.weight)
    samples = [(torch.randn(1, 4) * torch.tensor([1.0, 10.0, 1.0, 0.0]),) for _ in range(400)]

    halves = [samples[:200], samples[200:]]
    found = fisher_by_axis(
        module, {"w": module.layer.weight}, halves, ClassComparison(), SilentObserver(), lambda _: None
    )["w"]

    for rows, columns in zip(found.rows, found.columns, strict=True):
        assert (rows.shape, columns.shape) == ((5,), (4,))
        np.testing.assert_allclose(columns / columns[0], [1, 100, 1, 0], rtol=0.4)
        assert rows.mean() == pytest.approx(columns.mean())
    assert found.mean == pytest.approx(np.mean([half.mean() for half in found.rows]))


def test_the_measurements_survive_json() -> None:
    """Bit for bit: a run that is resumed chooses the same steps."""
    found = sensitivity(1)

    again = TensorFisher.from_json(json.loads(json.dumps(found.to_json())))

    assert again.to_json() == found.to_json()


def test_pruned_weights_do_not_count() -> None:
    """The means are those of the other weights, also over an axis along which unlike numbers of them are left."""
    torch.manual_seed(0)
    module = Steps(1).eval()
    keep = torch.ones(5, 4, dtype=torch.bool)
    keep[0], keep[1:3, 1] = False, False
    with torch.no_grad():
        module.layer.weight.mul_(keep)
    sample = (torch.randn(1, 4),)

    found = fisher_by_axis(
        module, {"w": module.layer.weight}, [[sample]], ClassComparison(), SilentObserver(), lambda _: None
    )["w"]

    generator, squares = torch.Generator().manual_seed(0), torch.zeros(5, 4, dtype=torch.float64)
    for _ in range(4):
        loss = ClassComparison().sampled_loss(module(*sample), generator)
        squares += (torch.autograd.grad(loss, module.layer.weight)[0] ** 2).double() / 4
    counted = squares * keep
    assert found.mean == pytest.approx(float(squares[keep].mean()))
    np.testing.assert_allclose(found.columns[0], counted.sum(0) / keep.sum(0))
    np.testing.assert_allclose(found.rows[0], counted.sum(1) / keep.sum(1).clamp(min=1))
    read = TensorFisher.from_json(json.loads(json.dumps(found.to_json())))
    assert read.mean == found.mean


def test_the_sensitivity_of_numbers_foretells_their_divergence() -> None:
    """Half of d^T F d, of a layer whose rows have units of their own: an error counts by the spread of its row."""
    torch.manual_seed(0)
    layer = nn.Linear(4, 3).eval()
    units = torch.tensor([1000.0, 1.0, 0.01])
    with torch.no_grad():
        layer.weight.mul_(units[:, None])
    inputs = torch.randn(400, 4)
    before = layer(inputs).detach()
    comparison = NumberComparison.of(before)
    halves = [[(row[None],) for row in half] for half in (inputs[:200], inputs[200:])]

    found = fisher_by_axis(layer, {"w": layer.weight}, halves, comparison, SilentObserver(), lambda _: None)["w"]

    for row, unit in enumerate(units):
        errors = torch.zeros(3, 4)
        errors[row] = 0.01 * unit
        with torch.no_grad():
            after = functional.linear(inputs, layer.weight + errors, layer.bias)
        expected = sum(float(half[row]) for half in found.rows) / 2 * float(errors.square().sum()) / 2
        assert expected == pytest.approx(float(comparison.divergence(after, before)), rel=0.25)
