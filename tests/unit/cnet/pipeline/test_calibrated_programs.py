"""Networks of a user's own quantized by their inputs: recurrent layers, attention, tied weights."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import cnet
from cnet.bundle import open_bundle
from cnet.data import Dataset, Split
from cnet.models.programs import StoredProgram, read_program
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.spec import JobSpec
from tests.unit.cnet.pipeline.small_jobs import Recorder
from tests.unit.cnet.training.programs.networks import CASES, seeded_network, write_archive


@pytest.mark.parametrize(
    ("case", "task"),
    [
        ("LSTM on tokens", "classification"),
        ("transformer", "classification"),
        ("regression on two inputs", "regression"),
    ],
)
def test_programs_of_all_kinds_are_calibrated(case: str, task: str, tmp_path: Path) -> None:
    """Weights whose inputs are known and others; outputs of classes are compared."""
    write_archive(CASES[case], tmp_path / "net.pt2")
    seeded_network(CASES[case])
    CASES[case].inputs(4)  # those that it was exported with
    archive = read_program(tmp_path / "net.pt2")
    program = StoredProgram(archive.program, archive.weights)
    given = {f"in{number}": values.numpy() for number, values in enumerate(CASES[case].inputs(24))}
    split = Split(given)
    data = Dataset(split.rows(np.arange(16)), split.rows(np.arange(16, 24)))
    spec = JobSpec.parse(
        {
            "architecture": {"program": "prog_1", "task": task},
            "calibrate": {"inputs": "ds_1"},
            "quantize": {"name": "calibrated", "divergence": 1e-4},
        }
    )

    outcome = run(
        spec, Inputs(program.state_dict, None, tmp_path / "run", program=program, calibration=data), Recorder()
    )

    point = outcome.points[0]
    assert (point.kl is None) == (task == "regression")
    assert point.kl is None or point.kl < 1e-3
    assert point.snr_db is not None
    assert point.snr_db > 3


@pytest.mark.parametrize(
    ("case", "excluded"),
    [
        ("LSTM on tokens", "*weight_hh*"),
        ("LSTM on tokens", "embedding.*"),
        ("transformer", "*in_proj_weight"),
        ("transformer", "*linear1.weight"),
    ],
)
def test_weights_that_are_excluded_stay_as_they_are(case: str, excluded: str, tmp_path: Path) -> None:
    """The layers around them are quantized, with and without feedback."""
    write_archive(CASES[case], tmp_path / "net.pt2")
    archive = read_program(tmp_path / "net.pt2")
    program = StoredProgram(archive.program, archive.weights)
    split = Split({f"in{number}": values.numpy() for number, values in enumerate(CASES[case].inputs(48))})
    data = Dataset(split.rows(np.arange(40)), split.rows(np.arange(40, 48)))
    document = {
        "architecture": {"program": "prog_1"},
        "calibrate": {"inputs": "ds_1"},
        "compressible": {"exclude": [excluded]},
    }
    given = Inputs(program.state_dict, None, tmp_path / "run", program=program, calibration=data)

    outcome = run(JobSpec.parse(document), given, Recorder())

    decoded = open_bundle(outcome.bundles[0]).weights()
    changed = {
        tensor.name: not np.array_equal(tensor.values(), program.state_dict[tensor.name].values())
        for tensor in decoded
        if len(tensor.shape) > 1
    }
    kept = {name for name in changed if fnmatchcase(name, excluded)}
    assert kept
    assert not any(changed[name] for name in kept)
    assert any(changed.values())


class TwoHeads(nn.Module):
    """A classifier with a second output."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.other = nn.Linear(12, 32), nn.Linear(32, 6), nn.Linear(32, 6)

    def forward(self, values: Tensor) -> dict[str, Tensor]:
        """Two outputs of shape (n, 6), of values of shape (n, 12)."""
        features = torch.relu(self.body(values))
        return {"logits": self.head(features), "second": self.other(features)}


class Log(SilentRunObserver):
    """Keeps the log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        """Keep a line."""
        self.lines.append(message)


def test_weights_of_an_output_that_is_not_compared_are_kept_as_well() -> None:
    """Nothing measures what they lose; they are named, and lose no more than those of the output that is compared."""
    torch.manual_seed(0)
    log = Log()

    result = cnet.compress(TwoHeads(), inputs=torch.randn(120, 12), observer=log)

    noise = {layer["name"]: layer["snr_db"] for layer in result.point["layers"]}
    assert noise["other.weight"] > noise["head.weight"] - 3
    [line] = [line for line in log.lines if "does not depend on" in line]
    assert "does not depend on other.weight on the calibration inputs" in line
