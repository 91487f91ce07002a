"""Jobs that name a program: its own weights, or those of a checkpoint that fill it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cnet import open_bundle
from cnet.errors import SpecError
from cnet.models.programs import StoredProgram, filled_weights, read_program
from cnet.pipeline import Inputs, Outcome, SilentRunObserver, run
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights
from tests.small_program import small_network, small_program

JOB: dict[str, Any] = {
    "prune": {"name": "magnitude", "sparsity": 0.5},
    "quantize": {"name": "kmeans", "clusters": 16},
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> StoredProgram:
    """A small network."""
    path = tmp_path_factory.mktemp("program") / "net.pt2"
    path.write_bytes(small_program())
    archive = read_program(path)
    return StoredProgram(archive.program, archive.weights)


def compressed(program: StoredProgram, folder: Path, name: str, weights: Weights | None = None) -> Outcome:
    """The outcome of a job; the checkpoint is named only where its weights are given."""
    spec = JobSpec.parse({**JOB, "architecture": {"program": name}, "checkpoint": "c" if weights else None})
    inputs = Inputs(weights or program.state_dict, None, folder, program=program)
    return run(spec, inputs, SilentRunObserver())


def test_the_decoded_weights_load_strictly(program: StoredProgram, tmp_path: Path) -> None:
    """Into the module that was exported; buffers are kept exactly."""
    bundle = open_bundle(compressed(program, tmp_path, "prog_1").bundles[0])

    module = small_network()
    expected = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    module.load_state_dict(bundle.state_dict(), strict=True)

    assert (module.state_dict()["5.weight"] == 0).float().mean() > 0.4
    for name in ("1.running_mean", "1.num_batches_tracked", "0.bias"):
        assert torch.equal(module.state_dict()[name], expected[name])


def test_the_bundle_names_the_program_by_its_content(program: StoredProgram, tmp_path: Path) -> None:
    """Two uploads of one program give the same bytes; the spec in the bundle has its digest."""
    one, other = (compressed(program, tmp_path / name, name) for name in ("prog_1", "prog_2"))
    assert one.bundles[0].read_bytes() == other.bundles[0].read_bytes()
    architecture = open_bundle(one.bundles[0]).manifest["extra"]["spec"]["architecture"]
    assert architecture["program"] == f"sha256:{program.digest()}"


def test_a_checkpoint_fills_the_program(program: StoredProgram, tmp_path: Path) -> None:
    """Its values come out under the program's names."""
    doubled = [Tensor(f"module.{t.name}", t.dtype, t.data * t.data.dtype.type(2)) for t in program.state_dict]
    filled = filled_weights(program, Weights.select(doubled))

    bundle = open_bundle(compressed(program, tmp_path, "prog_1", filled).bundles[0])

    assert list(bundle) == [tensor.name for tensor in program.state_dict]
    assert np.array_equal(bundle["0.bias"], 2 * program.state_dict["0.bias"].data)


def test_the_program_must_be_given(program: StoredProgram, tmp_path: Path) -> None:
    """What the spec names and what the run is given are the same."""
    spec = JobSpec.parse({**JOB, "architecture": {"program": "prog_1"}})
    with pytest.raises(SpecError, match="architecture"):
        run(spec, Inputs(program.state_dict, None, tmp_path), SilentRunObserver())
    with pytest.raises(SpecError, match="checkpoint"):
        run(spec, Inputs(None, None, tmp_path, program=program), SilentRunObserver())
