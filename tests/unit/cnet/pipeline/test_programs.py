"""Networks of a user's own, exported, run through whole jobs: resumed with equal bytes, loaded back strictly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from cnet.bundle import open_bundle
from cnet.data import Dataset, Split
from cnet.errors import ConstraintNotMetError, DatasetError, ProgramError, StoppedError
from cnet.models.programs import StoredProgram, read_program
from cnet.pipeline import Inputs, Outcome, run
from cnet.spec import JobSpec
from cnet.training.programs import export_program
from tests.real_files import real_file
from tests.unit.cnet.pipeline.small_jobs import Recorder, digests
from tests.unit.cnet.training.programs.networks import CASES, seeded_network, write_archive

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Job:
    """A network by its name in ``CASES``, its task, and how targets follow from its inputs."""

    case: str
    task: str
    targets: Callable[[tuple[Array, ...]], Array | None]
    recover: dict[str, Any]


JOBS = {
    "dropout and batch norm": Job(
        "batch norm and dropout",
        "classification",
        lambda x: (x[0].mean((1, 2, 3)) > 0).astype(np.int64),
        {"distill": {}, "merge_batch_norm": True},
    ),
    "LSTM": Job("LSTM on tokens", "classification", lambda x: x[0][:, -1] % 4, {}),
    "two inputs": Job("regression on two inputs", "regression", lambda x: x[0][:, 0] + x[1][:, 1], {"distill": {}}),
    "transformer": Job("transformer", "classification", lambda x: x[0], {}),
    "without labels": Job("transformer", "distill", lambda _: None, {}),
    "numbers without targets": Job("regression on two inputs", "distill_regression", lambda _: None, {"distill": {}}),
    "decisions without labels": Job("regression on two inputs", "distill_binary", lambda _: None, {}),
}


def dataset(job: Job, count: int = 48) -> Dataset:
    """Samples and their targets; a third is for the test."""
    torch.manual_seed(11)
    inputs = tuple(values.numpy() for values in CASES[job.case].inputs(count))
    named = {f"in{number}": values for number, values in enumerate(inputs)}
    rows = np.arange(count)
    split = Split(named, job.targets(inputs))
    return Dataset(split.rows(rows[: count * 2 // 3]), split.rows(rows[count * 2 // 3 :]))


def exported(job: Job, folder: Path) -> tuple[nn.Module, StoredProgram]:
    """The user's module and its program."""
    write_archive(CASES[job.case], folder / "net.pt2")
    archive = read_program(folder / "net.pt2")
    return seeded_network(CASES[job.case]), StoredProgram(archive.program, archive.weights)


def job_spec(job: Job, **members: Any) -> JobSpec:
    """One point after two epochs of fine-tuning, gradual pruning and recovery each."""
    defaults = {
        "architecture": {"program": "prog_1", "task": job.task},
        "dataset": "ds_1",
        "method": {"name": "cnet", "lambda": 0.001},
        "training": {"epochs": 2, "batch_size": 8, "device": "cpu"},
        "prune": {"name": "magnitude", "sparsity": 0.5, "gradual": {"epochs": 2}},
        "recover": {"epochs": 2, "centroid_epochs": 1, **job.recover},
        "quantize": {"name": "kmeans", "clusters": 16},
    }
    return JobSpec.parse({**defaults, **members})


def make(job: Job, program: StoredProgram, folder: Path, observer: Recorder | None = None, **members: Any) -> Outcome:
    """A run of the job."""
    inputs = Inputs(program.state_dict, dataset(job), folder, program=program)
    return run(job_spec(job, **members), inputs, observer or Recorder())


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_resumed_with_equal_bytes_and_loads_back(name: str, tmp_path: Path) -> None:
    """Stopped in every training; the decoded state dict loads strictly into the user's module."""
    job = JOBS[name]
    module, program = exported(job, tmp_path)
    undisturbed = make(job, program, tmp_path / "one")

    outcome, stops = None, 0
    for attempt in range(12):
        stopping = Recorder(stop=lambda events: sum(kind == "metric" for kind, _ in events) >= 2)
        try:
            outcome = make(job, program, tmp_path / "two", stopping if attempt < 8 else None)
            break
        except StoppedError:
            stops += 1

    assert outcome is not None
    assert stops > 2
    assert digests(outcome) == digests(undisturbed)
    module.load_state_dict(open_bundle(outcome.bundles[0]).state_dict(), strict=True)
    point = outcome.points[0]
    assert point.sparsity >= 0.49
    assert point.metric is not None
    assert point.metric.validation is not None
    assert (point.accuracy is not None) == (job.task == "classification")
    assert (point.agreement is not None) == (job.task not in ("regression", "distill_regression"))


def test_a_regression_is_judged_by_its_error(tmp_path: Path) -> None:
    """Less is better: the target is met where the error rises by no more."""
    job = JOBS["two inputs"]
    _, program = exported(job, tmp_path)

    outcome = make(job, program, tmp_path / "run", target={"max_accuracy_drop": 100.0})
    baseline = outcome.baseline.metric

    assert baseline is not None
    assert (baseline.name, baseline.higher_is_better) == ("mse", False)
    assert baseline.value > 0


@pytest.mark.parametrize(("percent", "met"), [(1e6, True), (0.0, False)])
def test_the_error_of_a_regression_may_rise_by_a_percentage(percent: float, met: bool, tmp_path: Path) -> None:
    """Of the baseline's, whatever the unit of the targets is."""
    job = JOBS["two inputs"]
    module, program = exported(job, tmp_path)
    with torch.no_grad():
        near = Job(job.case, job.task, lambda x: module(*map(torch.from_numpy, x)).numpy() + 0.01, {})
        lossy = {"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 2}}
        untrained = {"training": {"epochs": 0, "device": "cpu"}, "recover": {"epochs": 0, "centroid_epochs": 0}}
        target = {"max_error_rise": percent}
        if met:
            outcome = make(near, program, tmp_path / "run", target=target, **lossy, **untrained)
            assert outcome.selected is not None
        else:
            with pytest.raises(ConstraintNotMetError, match=r"max_error_rise = 0\.0: no point meets this target"):
                make(near, program, tmp_path / "run", target=target, **lossy, **untrained)


def test_a_regression_that_gets_worse_misses_its_target(tmp_path: Path) -> None:
    """The targets are the network's own outputs, so that nothing is better than the original."""
    job = JOBS["two inputs"]
    module, program = exported(job, tmp_path)
    with torch.no_grad():
        own = Job(job.case, job.task, lambda x: module(*map(torch.from_numpy, x)).numpy(), {})
    still = {"epochs": 0, "centroid_epochs": 0}

    with pytest.raises(ConstraintNotMetError, match=r"the most accurate point mse 0\.\d+"), torch.no_grad():
        make(
            own,
            program,
            tmp_path / "run",
            target={"max_accuracy_drop": 0.0},
            method={"name": "none"},
            training={"epochs": 0, "device": "cpu"},
            recover=still,
            prune={"name": "magnitude", "sparsity": 0.9},
            quantize={"name": "kmeans", "clusters": 2},
        )


def test_distillation_agrees_with_the_original_at_first(tmp_path: Path) -> None:
    """The baseline is the original itself."""
    job = JOBS["without labels"]
    _, program = exported(job, tmp_path)

    baseline = make(job, program, tmp_path / "run").baseline.metric

    assert baseline is not None
    assert (baseline.name, baseline.value) == ("agreement", 100)


def test_a_batch_of_fixed_size(tmp_path: Path) -> None:
    """Training drops what is left over; evaluation fills the last batch up."""
    job = JOBS["dropout and batch norm"]
    module = seeded_network(CASES[job.case]).eval()
    torch.export.save(torch.export.export(module, CASES[job.case].inputs(5)), tmp_path / "net.pt2")
    archive = read_program(tmp_path / "net.pt2")
    program = StoredProgram(archive.program, archive.weights)

    outcome = make(job, program, tmp_path / "run", prune={"name": "magnitude", "sparsity": 0.0})

    assert archive.program.inputs[0].shape[0] == 5
    assert outcome.points[0].accuracy is not None


@pytest.mark.parametrize("method", ["none", "l1", "group_lasso", "smallify", "targeted_dropout", "rate", "binary"])
def test_every_method_trains_a_program(method: str, tmp_path: Path) -> None:
    """With a pruner and a quantizer that need the curvature."""
    job = JOBS["dropout and batch norm"]
    _, program = exported(job, tmp_path)

    outcome = make(
        job,
        program,
        tmp_path / "run",
        method={"name": method},
        prune={"name": "obd", "sparsity": 0.5},
        training={"epochs": 1, "batch_size": 16, "device": "cpu"},
        recover={"epochs": 1, "centroid_epochs": 1},
    )

    assert outcome.points[0].accuracy is not None


@pytest.mark.parametrize("name", ["dropout and batch norm", "LSTM", "transformer"])
def test_factors_take_the_place_of_matrices(name: str, tmp_path: Path) -> None:
    """The network computes with products, and the decoded one loads back."""
    job = JOBS[name]
    module, program = exported(job, tmp_path)

    outcome = make(job, program, tmp_path / "run", transform={"name": "low_rank"})

    module.load_state_dict(open_bundle(outcome.bundles[0]).state_dict(), strict=True)


class Pixels(nn.Module):
    """Scales uint8 images itself, gives two outputs, and has a layer that no output depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.unused = nn.Linear(12, 3), nn.Linear(12, 4)

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        """Logits, shape (n, 3), and what they come from, of images of shape (n, 3, 2, 2), uint8."""
        values = (images.float() / 255).flatten(1)
        return {"features": 2 * values, "logits": self.last(values)}


@pytest.mark.parametrize("kind", ["uint8", "float16", "float64"])
def test_element_types(kind: str, tmp_path: Path) -> None:
    """Integer images reach the program as they are; its tensors keep their types. A second output is warned about."""
    rng = np.random.default_rng(0)
    module: nn.Module = Pixels() if kind == "uint8" else nn.Linear(12, 3).to(getattr(torch, kind))
    shape = (48, 3, 2, 2) if kind == "uint8" else (48, 12)
    inputs = rng.integers(0, 255, shape).astype(kind)
    export_program(module, torch.from_numpy(inputs[:4]), tmp_path / "net.pt2")
    archive = read_program(tmp_path / "net.pt2")
    program, labels = StoredProgram(archive.program, archive.weights), rng.integers(0, 3, 48)
    data = Dataset.of_arrays(inputs[:32], labels[:32], inputs[32:], labels[32:])
    observer = Recorder()

    outcome = run(job_spec(JOBS["LSTM"]), Inputs(program.state_dict, data, tmp_path / "run", program=program), observer)

    aside = [each.detail for each in outcome.points[0].warnings if each.code == "outputs_not_compared"]
    logged = [text for event, text in observer.events if event == "log" and "outputs_not_compared" in text]
    assert all("gives features" in text and "training by another output" in text for text in aside + logged)
    assert len(aside) == len(logged) == (kind == "uint8")
    module.load_state_dict(open_bundle(outcome.bundles[0]).state_dict(), strict=True)


def test_a_search_finds_a_point(tmp_path: Path) -> None:
    """Sparsity and clusters are searched for."""
    job = JOBS["LSTM"]
    _, program = exported(job, tmp_path)
    spec = JobSpec.parse(
        {
            "architecture": {"program": "prog_1"},
            "dataset": "ds_1",
            "target": {"min_ratio": 2.0},
            "training": {"epochs": 1, "batch_size": 16, "device": "cpu"},
            "recover": {"epochs": 1, "centroid_epochs": 0},
        }
    )

    outcome = run(spec, Inputs(program.state_dict, dataset(job), tmp_path / "run", program=program), Recorder())

    assert outcome.points[outcome.selected].ratio >= 2


def test_a_program_and_data_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Before anything is trained, stating both."""
    _, program = exported(JOBS["LSTM"], tmp_path)
    spec = job_spec(JOBS["LSTM"])

    def refused(train: Split) -> DatasetError:
        with pytest.raises(DatasetError) as caught:
            run(spec, Inputs(program.state_dict, Dataset(train, train), tmp_path / "run", program=program), Recorder())
        return caught.value

    tokens = np.zeros((8, 7), np.int64)
    assert refused(Split.of(tokens.astype(np.float32), np.zeros(8, np.int64))).code == "wrong_input_shape"
    assert refused(Split.of(tokens[:, :6], np.zeros(8, np.int64))).code == "wrong_input_shape"
    assert refused(Split.of(tokens, np.full(8, 4))).code == "labels_out_of_range"
    assert refused(Split.of(tokens, np.zeros(8, np.float32))).code == "bad_labels"


def test_a_batch_fixed_at_one_is_refused(tmp_path: Path) -> None:
    """The message says how to export instead."""
    job = JOBS["dropout and batch norm"]
    module = CASES[job.case].build().eval()
    torch.export.save(torch.export.export(module, CASES[job.case].inputs(1)), tmp_path / "net.pt2")
    archive = read_program(tmp_path / "net.pt2")

    with pytest.raises(ProgramError, match=r"two or more example samples"):
        make(job, StoredProgram(archive.program, archive.weights), tmp_path / "run")


@pytest.mark.real
def test_a_reader_of_lines_learns_by_ctc(tmp_path: Path) -> None:
    """The trained network of the real archive on a few of its lines."""
    archive = read_program(real_file("programs/ocr_english_g2.pt2"))
    program = StoredProgram(archive.program, archive.weights)
    with np.load(real_file("programs/ocr_english_g2_inputs.npz")) as file:
        x, y = file["x"][:30], file["y"][:30].astype(np.int64)
    spec = job_spec(
        Job("", "ctc", lambda _: None, {}),
        preprocess={"mean": [0.5], "std": [0.5]},
        method={"name": "none"},
        training={"epochs": 0, "batch_size": 10, "device": "cpu", "optimizer": {"learning_rate": 0.0001}},
        prune={"name": "magnitude", "sparsity": 0.2},
        recover={"epochs": 1, "centroid_epochs": 0},
        quantize={"name": "kmeans", "clusters": 64},
    )
    data = Dataset.of_arrays(x[:20], y[:20], x[20:], y[20:])

    outcome = run(spec, Inputs(program.state_dict, data, tmp_path / "run", program=program), Recorder())
    before, after = outcome.baseline.metric, outcome.points[0].metric

    assert before is not None
    assert after is not None
    assert before.name == "exact_lines"
    assert before.value >= 80
    assert after.value > 40
