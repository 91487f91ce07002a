"""Jobs with calibration inputs: without labels, after fine-tuning, resumed with equal bytes, with a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.data import DATASETS, Dataset, Split
from cnet.errors import DatasetError, StoppedError, TrainingError
from cnet.models.programs import StoredProgram, read_program
from cnet.pipeline import Inputs, Outcome, run
from cnet.spec import JobSpec
from tests.small_program import small_program
from tests.unit.cnet.pipeline.small_jobs import Recorder, digests

SPEC: dict[str, Any] = {
    "architecture": {"program": "prog_1"},
    "calibrate": {"inputs": "ds_1", "samples": 24},
    "quantize": {"name": "calibrated", "divergence": 0.001},
}


def inputs(count: int = 40) -> Dataset:
    """Images of digits without labels; a quarter is set apart."""
    images = DATASETS.create("digits").load().train.input[:count]
    return Dataset(Split.of(images[: count * 3 // 4]), Split.of(images[count * 3 // 4 :]))


def program(folder: Path) -> StoredProgram:
    """A small convolutional network."""
    path = folder / "net.pt2"
    path.write_bytes(small_program())
    archive = read_program(path)
    return StoredProgram(archive.program, archive.weights)


def calibrated(
    folder: Path, observer: Recorder | None = None, data: Dataset | None = None, **spec: Any
) -> tuple[Outcome, Recorder]:
    """The outcome of a job without a data set, and all events."""
    observer, stored = observer or Recorder(), program(folder)
    given = Inputs(stored.state_dict, None, folder / "run", program=stored, calibration=data or inputs())
    return run(JobSpec.parse({**SPEC, **spec}), given, observer), observer


def texts(observer: Recorder) -> str:
    """The log."""
    return "\n".join(str(value) for kind, value in observer.events if kind == "log")


def test_outputs_are_compared_on_inputs_set_apart(tmp_path: Path) -> None:
    """Every point has divergence and agreement, no accuracy, and no warning but that ten inputs are few."""
    outcome, observer = calibrated(tmp_path, quantize={"name": "calibrated", "divergence": 1e-7})

    point = outcome.points[0]
    assert point.kl is not None
    assert point.kl < 1e-5
    assert point.agreement is not None
    assert point.compared_inputs == 10
    assert point.accuracy is None
    assert point.metric is None
    assert point.quantizer == "calibrated"
    assert [each.code for each in point.warnings] == ["few_inputs"]
    assert "10 inputs that were set apart from the 24" in texts(observer)


@pytest.mark.parametrize("target", [{"max_kl": 0.01}, {"min_agreement": 90.0}])
def test_a_target_is_searched_without_labels(tmp_path: Path, target: dict[str, float]) -> None:
    """The statistics are taken once; the selected point meets the target."""
    outcome, observer = calibrated(tmp_path, target=target, quantize=None)

    chosen = outcome.points[outcome.selected]
    assert chosen.kl is not None
    assert chosen.agreement is not None
    assert chosen.kl <= target.get("max_kl", 1)
    assert chosen.agreement >= target.get("min_agreement", 0)
    assert observer.events.count(("phase", "calibrate")) == 1


NUMBERS: dict[str, Any] = {"architecture": {"program": "prog_1", "task": "regression"}}


@pytest.mark.parametrize(("quality", "least"), [("safe", 33.0), ("small", 23.0)])
def test_outputs_that_are_numbers_are_compared_by_their_noise(tmp_path: Path, quality: str, least: float) -> None:
    """A divergence of 0.001 nats is 39 dB, one of 0.01 nats 29 dB, foreseen from 24 inputs."""
    outcome, _ = calibrated(tmp_path, **NUMBERS, quantize={"name": "calibrated", "quality": quality})

    point = outcome.points[0]
    assert point.output_snr_db is not None
    assert least < point.output_snr_db < least + 22
    assert (point.kl, point.agreement, point.compared_inputs) == (None, None, 10)
    assert [each.code for each in point.warnings] == ["few_inputs"]


def test_a_target_for_the_noise_in_the_outputs_is_searched(tmp_path: Path) -> None:
    """The smallest file within the limit is selected."""
    outcome, _ = calibrated(tmp_path, **NUMBERS, target={"min_output_snr": 25.0}, quantize=None)

    chosen = outcome.points[outcome.selected]
    assert chosen.output_snr_db is not None
    assert chosen.output_snr_db >= 25
    assert all((each.output_snr_db or 0) < 25 for each in outcome.points if each.bytes.total < chosen.bytes.total)


def test_another_quantizer_is_measured_too(tmp_path: Path) -> None:
    """Its labels do not depend on the inputs."""
    outcome, observer = calibrated(tmp_path, quantize={"name": "auto", "quality": "small"})

    assert outcome.points[0].kl is not None
    assert ("phase", "calibrate") not in observer.events


def test_a_stopped_calibration_goes_on_with_equal_bytes(tmp_path: Path) -> None:
    """What was measured on the first sparsity is taken over; the other one's is measured."""
    spec = {"prune": {"name": "magnitude", "sparsity": [0.0, 0.3]}}
    whole, interrupted = tmp_path / "whole", tmp_path / "interrupted"
    whole.mkdir()
    interrupted.mkdir()
    undisturbed, _ = calibrated(whole, **spec)

    with pytest.raises(StoppedError):
        calibrated(interrupted, Recorder(stop=lambda events: ("phase", "encode") in events), **spec)
    resumed, observer = calibrated(interrupted, **spec)

    assert digests(resumed) == digests(undisturbed)
    assert observer.events.count(("phase", "calibrate")) == 1


def test_calibration_is_the_last_stage_after_fine_tuning(tmp_path: Path) -> None:
    """The training inputs of the data set serve; each pruned network is measured, once for all its points."""
    data = DATASETS.create("digits").load()
    rows = np.arange(160)
    small = Dataset(data.train.rows(rows[:120]), data.train.rows(rows[120:]))
    spec = JobSpec.parse(
        {
            "architecture": "resnet8",
            "dataset": "digits",
            "calibrate": {"samples": 24},
            "training": {"epochs": 1},
            "method": {"name": "none"},
            "prune": {"name": "magnitude", "sparsity": [0.5, 0.9]},
            "recover": {"epochs": 1, "centroid_epochs": 1},
        }
    )
    observer = Recorder()

    outcome = run(spec, Inputs(None, small, tmp_path, calibration=small), observer)

    point = outcome.points[0]
    assert point.quantizer == "calibrated"
    assert point.accuracy is not None
    assert point.sparsity >= 0.5
    first, second = ((tmp_path / "records" / f"sensitivities-00{place}.json").read_text() for place in (0, 1))
    assert first != second
    assert observer.events.count(("phase", "calibrate")) == 2


def test_the_weights_of_a_built_in_architecture_need_no_labels(tmp_path: Path) -> None:
    """Its number of classes is that of the checkpoint."""
    from tests.small_training import small_trainer

    weights = small_trainer("lenet300_100").initial(0)
    spec = JobSpec.parse({**SPEC, "checkpoint": "ckpt_1", "architecture": "lenet300_100"})

    outcome = run(spec, Inputs(weights, None, tmp_path, calibration=inputs()), Recorder())

    assert outcome.points[0].agreement is not None


def test_inputs_of_another_shape_are_refused(tmp_path: Path) -> None:
    """Both shapes are stated."""
    wrong = Split.of(np.arange(8 * 3 * 9 * 9, dtype=np.uint8).reshape(8, 3, 9, 9))

    with pytest.raises(DatasetError, match=r"3, 9, 9.*1, 8, 8") as refused:
        calibrated(tmp_path, data=Dataset(wrong, wrong))

    assert refused.value.code == "wrong_input_shape"


def test_few_inputs_are_warned_about(tmp_path: Path) -> None:
    """Three samples say little."""
    _, observer = calibrated(tmp_path, data=inputs(4))

    assert "3 samples are few" in texts(observer)


def test_equal_inputs_are_refused(tmp_path: Path) -> None:
    """Nothing can be learned from them."""
    same = Split.of(np.ones((8, 1, 8, 8), np.uint8))

    with pytest.raises(DatasetError, match="all 8 samples are the same"):
        calibrated(tmp_path, data=Dataset(same, same))


def test_outputs_that_are_not_finite_are_refused_naming_the_layer(tmp_path: Path) -> None:
    """The first layer whose result is infinite."""
    huge = Split.of(
        np.full((8, 1, 8, 8), 3e38, np.float32) * np.linspace(0.1, 1, 8, dtype=np.float32)[:, None, None, None]
    )

    with pytest.raises(TrainingError, match=r"layer of 0\.weight"):
        calibrated(tmp_path, data=Dataset(huge, huge))
