"""The methods cnet and none: their parameters, and the strength that follows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cnet.methods import METHODS
from cnet.methods.cnet import Cnet


def method(**given: Any) -> Cnet:
    """The method given in its JSON form."""
    return Cnet.model_validate({"name": "cnet", **given})


def test_default_is_a_small_strength_with_decay() -> None:
    """It is the same in each epoch, and the JSON form writes it out."""
    default = METHODS.create("cnet")
    assert [default.strength(epoch) for epoch in (0, 999)] == [0.005, 0.005]
    written = default.model_dump(by_alias=True, exclude_none=True)
    assert written == {"name": "cnet", "lambda": 0.005, "decay": 0.001}
    assert method(**written) == default
    assert method(decay=0.0).decay == 0.0


def test_an_empty_ramp_is_the_ramp_of_the_paper() -> None:
    """The strength is 0, 0.007, 0.014, ..., without decay."""
    ramp = method(ramp={})
    assert [ramp.strength(epoch) for epoch in range(3)] == pytest.approx([0, 0.007, 0.014])
    assert ramp.decay == 0.0


def test_null_is_the_same_as_left_out() -> None:
    """Null chooses no strength."""
    assert method(**{"lambda": None, "ramp": None}) == method()


def test_the_fixed_strength_is_called_lambda_in_json() -> None:
    """It is read and written under this name."""
    fixed = method(**{"lambda": 0.045})
    assert [fixed.strength(0), fixed.strength(9)] == [0.045, 0.045]
    assert fixed.model_dump(by_alias=True, exclude_none=True) == {"name": "cnet", "lambda": 0.045, "decay": 0.0}
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
        {"decay": -0.1},
    ],
)
def test_contradictions_and_unknown_fields_are_refused(given: dict[str, Any]) -> None:
    """Each is an error before any training."""
    with pytest.raises(ValidationError):
        method(**given)


def test_catalogue_shows_lambda() -> None:
    """The JSON Schema has the JSON name."""
    rows = {row["name"]: row for row in METHODS.describe()}
    assert {"lambda", "ramp", "layers"} <= set(rows["cnet"]["parameters"]["properties"])
