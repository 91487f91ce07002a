"""Jobs with calibration inputs, checked before they are queued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cnet.training.programs import export_program
from tests.api_bench import Bench, add_program, npz
from tests.small_program import small_program
from tests.unit.app.api.http.test_problems import check_problem


def add_inputs(bench: Bench, count: int = 40, side: int = 8) -> str:
    """The id of an uploaded data set without labels."""
    x = np.arange(count * side * side, dtype=np.uint8).reshape(count, side, side)
    return str(bench.client.post("/v1/datasets", params={"filename": "x.npz"}, content=npz(x=x)).json()["id"])


def job(bench: Bench, inputs: str, **more: Any) -> dict[str, Any]:
    """The specification of a job that calibrates a program."""
    program = add_program(bench, small_program()).id
    return {"architecture": {"program": program}, "calibrate": {"inputs": inputs}, **more}


def test_inputs_without_labels_are_enough(bench: Bench) -> None:
    """The default quantizer is the calibrated one, and outputs may be a target; the inputs are in use."""
    inputs = add_inputs(bench)

    validated = bench.client.post("/v1/jobs:validate", json=job(bench, inputs, target={"max_kl": 0.1}))
    made = bench.client.post("/v1/jobs", json=job(bench, inputs))

    assert validated.status_code == 200, validated.json()
    assert validated.json()["warnings"] == []
    assert made.json()["spec"]["quantize"]["name"] == "calibrated"
    check_problem(bench.client.delete(f"/v1/datasets/{inputs}"), 409, "in_use")


class Heads(nn.Module):
    """Logits, and a number beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.classes, self.size = nn.Linear(64, 10), nn.Linear(64, 1)

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        """Of images of shape (n, 1, 8, 8)."""
        rows = images.flatten(1)
        return {"logits": self.classes(rows), "size": self.size(rows)}


def test_outputs_that_are_not_compared_are_warned_about(bench: Bench, tmp_path: Path) -> None:
    """Nothing measures what they lose; of a job on the weights alone that is true of all outputs."""
    export_program(Heads(), torch.rand(4, 1, 8, 8), tmp_path / "net.pt2")
    architecture = {"program": add_program(bench, (tmp_path / "net.pt2").read_bytes()).id}
    inputs = {"calibrate": {"inputs": add_inputs(bench)}}

    def warnings(**more: Any) -> list[str]:
        answer = bench.client.post("/v1/jobs:validate", json={"architecture": architecture, **more})
        return [each for each in answer.json()["warnings"] if each.startswith("outputs_not_compared: ")]

    assert ["gives size," in each and "nothing measures" in each for each in warnings(**inputs)] == [True]
    assert ["training by another output" in each for each in warnings(dataset="digits")] == [True]
    assert warnings() == []


def test_few_inputs_are_warned_about(bench: Bench) -> None:
    """Six samples, of which one or two are set apart."""
    answer = bench.client.post("/v1/jobs:validate", json=job(bench, add_inputs(bench, 6)))

    assert ["samples are few" in warning for warning in answer.json()["warnings"]] == [True]


def test_inputs_of_another_shape_are_refused(bench: Bench) -> None:
    """Both shapes are named."""
    problem = check_problem(
        bench.client.post("/v1/jobs", json=job(bench, add_inputs(bench, side=9))), 422, "wrong_input_shape"
    )

    assert "1, 9, 9" in problem["detail"]
    assert "1, 8, 8" in problem["detail"]


def test_unknown_inputs_are_named_as_such(bench: Bench) -> None:
    """Not as the data set of the job, which has none."""
    problem = check_problem(bench.client.post("/v1/jobs", json=job(bench, "nope.npz")), 404, "not_found")

    assert problem["detail"].startswith("calibration inputs 'nope.npz': it is neither an id")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"checkpoint": "ckpt_1", "calibrate": {"inputs": "ds_1"}}, "needs a network"),
        ({"architecture": {"program": "prog_1"}, "calibrate": {}}, "no other inputs"),
        ({"architecture": {"program": "prog_1"}, "quantize": {"name": "calibrated"}}, "needs inputs"),
        ({"architecture": "resnet8", "calibrate": {"inputs": "ds_1"}}, "needs weights"),
    ],
)
def test_what_a_calibration_needs(bench: Bench, spec: dict[str, Any], says: str) -> None:
    """Network, inputs and weights."""
    assert says in check_problem(bench.client.post("/v1/jobs", json=spec), 422, "invalid_spec")["detail"]
