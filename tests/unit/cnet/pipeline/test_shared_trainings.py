"""Runs that have trainings in common."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from cnet.pipeline import Inputs, Outcome, run
from cnet.pipeline.digests import trainings_key
from tests.unit.cnet.pipeline.small_jobs import Recorder, blobs, digests, train_and_compress, training_spec


class SharedFolder:
    """Weights by key in a folder; nobody waits, since the runs follow each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: list[str] = []

    def take(self, key: str, target: Path) -> bool:
        """Copy them where they are there."""
        if not (self.folder / key).exists():
            return False
        shutil.copyfile(self.folder / key, target)
        self.taken.append(key)
        return True

    def give(self, key: str, source: Path) -> None:
        """Copy them here."""
        shutil.copyfile(source, self.folder / key)


def share(folder: Path, shared: SharedFolder, recorder: Recorder, **members: Any) -> Outcome:
    """A run of ``training_spec`` that shares its trainings."""
    return run(training_spec(**members), Inputs(None, blobs(), folder, shared=shared), recorder)


def test_a_run_takes_over_what_another_has_trained(tmp_path: Path) -> None:
    """Nothing is trained twice, and the bundles are those of runs that share nothing."""
    later = {"prune": {"name": "magnitude", "sparsity": [0.7]}, "quantize": {"name": "kmeans", "clusters": [8]}}
    (tmp_path / "shared").mkdir()
    shared, first, second = SharedFolder(tmp_path / "shared"), Recorder(), Recorder()

    one = share(tmp_path / "a", shared, first)
    two = share(tmp_path / "b", shared, second, **later)

    assert {row["phase"] for row in first.of("metric")} >= {"baseline", "finetune"}
    assert not {row["phase"] for row in second.of("metric")} & {"baseline", "finetune"}
    assert [key.partition("-")[0] for key in shared.taken] == ["baseline", "finetune"]
    assert digests(one) == digests(train_and_compress(tmp_path / "c"))
    assert digests(two) == digests(train_and_compress(tmp_path / "d", **later))


@pytest.mark.parametrize(
    ("members", "same"),
    [
        ({"name": "other", "labels": {"a": "b"}, "time_limit": 5}, True),
        ({"prune": {"name": "magnitude", "sparsity": 0.3}}, True),
        ({"quantize": None, "encode": {"name": "npz"}, "recover": {"epochs": 0}}, True),
        ({"target": {"max_bytes": 1000}}, True),
        ({"method": {"name": "cnet", "lambda": 0.02}}, False),
        ({"method": None}, False),
        ({"training": {"epochs": 2, "batch_size": 64, "device": "cpu", "seed": 1}}, False),
        ({"baseline": {"epochs": 4}}, False),
        ({"validation": 0.2}, False),
        ({"architecture": {"name": "lenet5"}}, False),
        ({"compressible": {"exclude": ["*bias"]}}, False),
        ({"preprocess": {"normalize": "auto"}}, False),
    ],
)
def test_the_key_tells_trainings_apart(members: dict[str, Any], same: bool) -> None:
    """By all that decides the weights before pruning, and by nothing else."""
    specs = (training_spec(), training_spec(**members))
    key, other = (trainings_key(spec, None, "data", rate_is_open=False) for spec in specs)

    assert (key == other) is same


@pytest.mark.parametrize(
    ("members", "same"),
    [
        ({"prune": {"name": "magnitude", "sparsity": 0.3}}, False),
        ({"recover": {"epochs": 3}}, False),
        ({"quantize": {"name": "kmeans", "clusters": 8}}, True),
    ],
)
def test_an_open_learning_rate_depends_on_all_epochs_of_a_job(members: dict[str, Any], same: bool) -> None:
    """Those after pruning too, so jobs that differ in them share nothing."""
    specs = (training_spec(), training_spec(**members))
    key, other = (trainings_key(spec, "weights", "data", rate_is_open=True) for spec in specs)

    assert (key == other) is same


def test_the_key_tells_inputs_apart() -> None:
    """The checkpoint and the data set count."""
    pairs = [(weights, data) for weights in (None, "a") for data in ("b", "c")]

    assert len({trainings_key(training_spec(), *pair, rate_is_open=False) for pair in pairs}) == 4
