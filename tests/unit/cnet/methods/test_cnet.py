"""The methods cnet and none: what a user may say, and the strength that follows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from cnet.errors import SpecError
from cnet.methods import METHODS, Moment
from cnet.methods.cnet import Cnet
from cnet.training.compressibility import compressibility


def method(**given: Any) -> Cnet:
    """From the JSON form."""
    return Cnet.model_validate({"name": "cnet", **given})


WEIGHTS = {
    "a.weight": torch.nn.Parameter(torch.tensor([[1.0, -2.0], [0.0, 4.0]])),
    "b.weight": torch.nn.Parameter(torch.tensor([[3.0, 1.0, 1.0]])),
}


def test_default_is_the_papers_ramp() -> None:
    """0, 0.007, 0.014, ...; written out in the JSON form."""
    default = METHODS.create("cnet")
    assert [default.strength(epoch) for epoch in range(3)] == pytest.approx([0, 0.007, 0.014])
    assert default.model_dump(by_alias=True, exclude_none=True) == {
        "name": "cnet",
        "ramp": {"start": 0.0, "step": 0.007},
    }


def test_null_is_the_same_as_left_out() -> None:
    """A null member is no choice."""
    assert method(**{"lambda": None}).ramp is not None


def test_fixed_strength_goes_by_the_name_lambda() -> None:
    """In JSON both ways."""
    fixed = method(**{"lambda": 0.045})
    assert [fixed.strength(0), fixed.strength(9)] == [0.045, 0.045]
    assert fixed.model_dump(by_alias=True, exclude_none=True) == {"name": "cnet", "lambda": 0.045}
    assert method(**fixed.model_dump(by_alias=True)) == fixed


@pytest.mark.parametrize(
    "given",
    [
        {"lambda": 0.1, "ramp": {}},
        {"lambda": 0.1, "layers": {"*": 1.0}},
        {"lambda": -0.1},
        {"lambda": "0.1"},
        {"ramp": {"start": -1.0}},
        {"ramp": {"steps": 1.0}},
        {"layers": {}},
        {"layers": {"*": -1.0}},
        {"strength": 1.0},
    ],
)
def test_contradictions_and_unknown_fields_are_refused(given: dict[str, Any]) -> None:
    """Each of them at once, before any training."""
    with pytest.raises(ValidationError):
        method(**given)


def test_penalty_is_strength_times_loss_of_the_whole_net() -> None:
    """Eq. alt2."""
    penalty = method(**{"lambda": 0.5}).penalty(WEIGHTS, Moment(3, 10))
    assert penalty is not None
    assert penalty.item() == pytest.approx(0.5 * compressibility(list(WEIGHTS.values())).item())


def test_first_epoch_of_the_ramp_adds_nothing() -> None:
    """λ is 0, so nothing is computed."""
    assert method().penalty(WEIGHTS, Moment(0, 10)) is None


def test_layers_have_their_own_strengths() -> None:
    """Eq. alt1; the first pattern that fits counts, a layer that none fits is left out."""
    layered = method(layers={"a.*": 2.0, "?.weight": 10.0})
    penalty = layered.penalty(WEIGHTS, Moment(0, 10))
    one, two = (compressibility([weight]).item() for weight in WEIGHTS.values())
    assert penalty is not None
    assert penalty.item() == pytest.approx(2 * one + 10 * two)
    assert layered.strength(0) is None
    alone = method(layers={"b.*": 1.0}).penalty(WEIGHTS, Moment(0, 10))
    assert alone is not None
    assert alone.item() == pytest.approx(two)


def test_a_pattern_that_fits_nothing_is_named() -> None:
    """A misspelt layer must not be a silent 0."""
    with pytest.raises(SpecError, match=r"'c\.\*' fits no compressible tensor"):
        method(layers={"c.*": 1.0}).penalty(WEIGHTS, Moment(0, 10))


def test_none_adds_nothing() -> None:
    """No penalty and no strength."""
    none = METHODS.create("none")
    assert none.penalty(WEIGHTS, Moment(5, 10)) is None
    assert none.strength(5) is None


def test_catalogue_shows_lambda() -> None:
    """The JSON Schema carries the JSON name."""
    rows = {row["name"]: row for row in METHODS.describe()}
    assert {"lambda", "ramp", "layers"} <= set(rows["cnet"]["parameters"]["properties"])
