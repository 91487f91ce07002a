"""Jobs with a data set: baseline, fine-tuning, recovery, and accuracies of what is in the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cnet.bundle import open_bundle
from cnet.data import Dataset
from cnet.errors import ArchitectureMismatchError, CnetError, ConstraintNotMetError, DatasetError
from cnet.pipeline import Inputs, Outcome, SilentRunObserver, run
from cnet.results.points import Point
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.trainer import Trainer
from tests.unit.cnet.pipeline.small_jobs import (
    Recorder,
    blobs,
    digests,
    random_weights,
    train_and_compress,
    training_spec,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Recorder]:
    """One undisturbed run from scratch, and what its observer heard."""
    recorder = Recorder()
    return train_and_compress(tmp_path_factory.mktemp("run"), recorder), recorder


def test_baseline_is_trained_and_measured(finished: tuple[Outcome, Recorder]) -> None:
    """Far better than the 25 % of chance."""
    outcome, recorder = finished
    assert outcome.baseline.accuracy is not None
    assert outcome.baseline.accuracy > 80
    assert recorder.of("baseline") == [outcome.baseline]


def test_accuracy_is_that_of_the_net_in_the_file(finished: tuple[Outcome, Recorder]) -> None:
    """Decoding the bundle and evaluating it again gives the point's numbers exactly."""
    outcome, _ = finished
    spec = training_spec().resolved()
    assert spec.architecture is not None
    assert spec.training is not None
    network = ArchitectureBuilder.for_dataset(spec.architecture, blobs())
    trainer = Trainer(network, blobs(), spec.training)
    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        evaluation = trainer.evaluate(open_bundle(path).weights())
        assert (evaluation.accuracy, evaluation.loss) == (point.accuracy, point.loss)


def test_sparsity_is_exact_after_recovery(finished: tuple[Outcome, Recorder]) -> None:
    """Weights that were pruned stay zero through two trainings."""
    outcome, _ = finished
    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        vector = open_bundle(path).weights().vector()
        assert np.count_nonzero(vector == 0) >= round(point.sparsity_requested * len(vector))
        assert point.sparsity == pytest.approx(point.sparsity_requested, abs=1e-3)


def test_points_of_one_sparsity_share_the_accuracy_before_quantizing(finished: tuple[Outcome, Recorder]) -> None:
    """It is measured once, on the recovered net."""
    points = finished[0].points
    assert points[0].accuracy_before_quantize == points[1].accuracy_before_quantize is not None


def test_phases_are_those_of_the_contract(finished: tuple[Outcome, Recorder]) -> None:
    """One fine-tuning for all points; recovery once a sparsity."""
    phases = finished[1].of("phase")
    assert phases[0] == "load"
    assert [phases.count(name) for name in ("finetune", "recover", "quantize", "publish")] == [1, 2, 4, 4]
    assert set(phases) == {
        *("load", "baseline", "finetune", "prune", "recover", "quantize", "encode", "evaluate", "publish")
    }


def test_progress_never_falls_and_ends_at_one(finished: tuple[Outcome, Recorder]) -> None:
    """Training speaks several times an epoch."""
    fractions = finished[1].of("progress")
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(fractions) > 20


def test_folder_keeps_bundles_and_records_alone(finished: tuple[Outcome, Recorder]) -> None:
    """Weights and training states are gone when the run ends."""
    outcome, _ = finished
    folder = outcome.bundles[0].parent.parent
    left = {path for path in folder.rglob("*") if path.is_file()}
    records = {folder / "records" / f"{name}.json" for name in ("baseline", *(f"point-00{i}" for i in range(4)))}
    assert left == {folder / "run.json", *records, *outcome.bundles}


def test_checkpoint_is_its_own_baseline(finished: tuple[Outcome, Recorder], tmp_path: Path) -> None:
    """A bundle's net, given as checkpoint, is evaluated and not trained from scratch."""
    first = finished[0]
    weights = open_bundle(first.bundles[1]).weights()
    recorder = Recorder()
    spec = training_spec(checkpoint="ckpt_1", baseline=None, training={"epochs": 1}, recover={"epochs": 0})
    second = run(spec, Inputs(weights, blobs(), tmp_path), recorder)
    assert second.baseline.accuracy == first.points[1].accuracy
    assert not [m for m in recorder.of("metric") if m["phase"] == "baseline" and "epoch" in m]


def test_zero_epochs_compress_the_checkpoint_unchanged(finished: tuple[Outcome, Recorder], tmp_path: Path) -> None:
    """Only the accuracies distinguish the run from one without a data set."""
    weights = open_bundle(finished[0].bundles[3]).weights()
    spec = training_spec(
        checkpoint="ckpt_1",
        baseline=None,
        training={"epochs": 0},
        recover={"epochs": 0, "centroid_epochs": 0},
        prune={"name": "magnitude", "sparsity": 0.5},
        quantize={"name": "none"},
    )
    outcome = run(spec, Inputs(weights, blobs(), tmp_path), SilentRunObserver())
    assert outcome.points[0].accuracy == outcome.baseline.accuracy
    assert outcome.points[0].mse == 0.0


def test_same_job_gives_same_bundles(finished: tuple[Outcome, Recorder], tmp_path: Path) -> None:
    """Training, clustering and encoding depend on inputs, spec and seed alone."""
    assert digests(train_and_compress(tmp_path)) == digests(finished[0])


def test_another_seed_gives_other_bundles(finished: tuple[Outcome, Recorder], tmp_path: Path) -> None:
    """The seed reaches the training."""
    training = {"epochs": 2, "batch_size": 64, "device": "cpu", "seed": 1}
    assert not set(digests(train_and_compress(tmp_path, training=training))) & set(digests(finished[0]))


def test_accuracy_target_is_searched(tmp_path: Path) -> None:
    """Few points; the smallest file that loses no more than asked for is selected."""
    outcome = train_and_compress(
        tmp_path,
        prune=None,
        recover={"epochs": 1, "centroid_epochs": 0},
        quantize={"name": "kmeans", "clusters": 16},
        target={"max_accuracy_drop": 5},
    )
    assert len(outcome.points) <= 12
    floor = (outcome.baseline.accuracy or 0) - 5
    good = [point for point in outcome.points if (point.accuracy or 0) >= floor]
    assert outcome.selected == min(good, key=lambda point: point.bytes.total).index


def test_a_target_on_few_samples_is_warned_about_once_and_in_every_point(tmp_path: Path) -> None:
    """Choices are made on 19 samples, of which one is 5 points; a target for the size is no matter of accuracy."""
    recorder = Recorder()
    outcome = train_and_compress(tmp_path / "drop", recorder, target={"max_accuracy_drop": 4})
    by_size = train_and_compress(tmp_path / "size", target={"min_ratio": 1})

    told = [text for text in recorder.of("log") if "small_validation" in text]
    assert len(told) == 1
    assert "judged on 19 samples of the validation split" in told[0]
    assert all("small_validation" in {each.code for each in point.warnings} for point in outcome.points)
    assert not any(each.code == "small_validation" for point in by_size.points for each in point.warnings)


@pytest.mark.parametrize("fault", ["labels of others", "one class", "none"])
def test_data_that_cannot_judge_a_given_network_are_warned_about(
    fault: str, finished: tuple[Outcome, Recorder], tmp_path: Path
) -> None:
    """In the log once, and at every point."""
    weights, data = open_bundle(finished[0].bundles[0]).weights(), blobs()
    labels = {"labels of others": (data.test.labels + 1) % 4, "one class": np.full(96, 2), "none": data.test.labels}
    others = (data.train.labels + 1) % 4 if fault == "labels of others" else data.train.labels
    data = Dataset(replace(data.train, targets=others), replace(data.test, targets=labels[fault]))
    spec = training_spec(
        checkpoint="ckpt_1", baseline=None, training={"epochs": 0}, recover={"epochs": 0, "centroid_epochs": 0}
    )
    recorder = Recorder()

    outcome = run(spec, Inputs(weights, data, tmp_path), recorder)

    codes = {"labels of others": {"baseline_at_chance"}, "one class": {"one_class"}, "none": set()}[fault]
    assert all(codes <= {each.code for each in point.warnings} for point in outcome.points)
    told = [text for text in recorder.of("log") if "one_class: " in text or "baseline_at_chance: " in text]
    assert len(told) >= len(codes)
    assert bool(told) == bool(codes)


def test_a_given_network_that_has_seen_the_validation_samples_is_warned_about(
    finished: tuple[Outcome, Recorder], tmp_path: Path
) -> None:
    """It is no better than a guess on the test split, and right on what it was trained on: the data are its own."""
    weights, data = open_bundle(finished[0].bundles[0]).weights(), blobs(train=400)
    data = replace(data, test=replace(data.test, targets=(data.test.labels + 1) % 4))
    spec = training_spec(
        checkpoint="ckpt_1",
        baseline=None,
        training={"epochs": 0},
        recover={"epochs": 0, "centroid_epochs": 0},
        target={"min_ratio": 1},
    )

    outcome = run(spec, Inputs(weights, data, tmp_path), Recorder())

    codes = {each.code for point in outcome.points for each in point.warnings}
    assert "validation_seen" in codes
    assert "baseline_at_chance" not in codes


def test_target_that_no_net_reaches_fails_with_its_points_kept(tmp_path: Path) -> None:
    """A baseline that is better than any net after ruinous pruning; the error says how near the best came."""
    recorder = Recorder()
    with pytest.raises(ConstraintNotMetError) as caught:
        train_and_compress(
            tmp_path,
            recorder,
            prune={"name": "magnitude", "sparsity": [0.998, 0.999]},
            recover={"epochs": 0, "centroid_epochs": 0},
            quantize=None,
            target={"max_accuracy_drop": 0.0},
        )
    assert "the most accurate point" in caught.value.detail
    assert 1 <= len(recorder.of("point")) <= 12


def test_what_a_search_chose_is_in_the_bundle(tmp_path: Path) -> None:
    """The spec in the manifest leaves the quantizer open; the metrics beside it name it with all its parameters."""
    outcome = train_and_compress(
        tmp_path, prune={"name": "magnitude", "sparsity": 0.5}, quantize=None, target={"max_accuracy_drop": 5}
    )
    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        manifest = open_bundle(path).manifest
        assert "quantize" not in manifest["extra"]["spec"]
        assert manifest["metrics"]["quantize"]["name"] == point.quantizer
        assert manifest["metrics"]["quantize"].get("step") == point.step


def test_checkpoint_of_another_net_is_refused_while_loading(tmp_path: Path) -> None:
    """The error names the tensors, and the phase."""
    spec = training_spec(checkpoint="ckpt_1", baseline=None)
    with pytest.raises(ArchitectureMismatchError) as caught:
        run(spec, Inputs(random_weights(), blobs(), tmp_path), SilentRunObserver())
    assert caught.value.phase == "load"
    assert "conv.weight" in caught.value.unexpected


def test_labels_beyond_the_net_are_refused_while_loading(finished: tuple[Outcome, Recorder], tmp_path: Path) -> None:
    """A data set with a fifth class does not fit a net of four outputs."""
    weights = open_bundle(finished[0].bundles[0]).weights()
    data = blobs()
    five = Dataset.of_arrays(
        data.train.input, np.where(data.train.labels == 3, 4, data.train.labels), data.test.input, data.test.labels
    )
    spec = training_spec(checkpoint="ckpt_1", baseline=None)
    with pytest.raises(DatasetError) as caught:
        run(spec, Inputs(weights, five, tmp_path), SilentRunObserver())
    assert (caught.value.code, caught.value.phase) == ("labels_out_of_range", "load")


def test_divergence_names_its_phase(tmp_path: Path) -> None:
    """A learning rate of 1000 ends in the baseline's training."""
    training = {"epochs": 2, "device": "cpu", "optimizer": {"name": "sgd", "learning_rate": 1000.0}}
    with pytest.raises(CnetError) as caught:
        train_and_compress(tmp_path, training=training, baseline={"epochs": 20})
    assert (caught.value.code, caught.value.phase) == ("diverged", "baseline")


def test_a_gradual_pruning_meets_each_sparsity(tmp_path: Path) -> None:
    """Resumed after a kill in its midst, too; it is a training of its own before each recovery."""
    prune = {"name": "magnitude", "sparsity": [0.5, 0.9], "gradual": {"epochs": 2}}
    recorder = Recorder()
    undisturbed = train_and_compress(tmp_path / "one", recorder, prune=prune)
    rows = [row for row in recorder.of("metric") if row["phase"] == "prune"]
    assert [row["epoch"] for row in rows] == [1, 2, 1, 2]
    assert all(row["lambda"] == 0.01 for row in rows)
    assert [round(point.sparsity, 3) for point in undisturbed.points] == [0.5, 0.5, 0.9, 0.9]

    def in_its_midst(events: list[tuple[str, object]]) -> bool:
        return sum(kind == "metric" and getattr(value, "get", dict)("phase") == "prune" for kind, value in events) == 1

    with pytest.raises(KeyboardInterrupt):
        train_and_compress(tmp_path / "two", Recorder(crash=in_its_midst), prune=prune)
    assert digests(train_and_compress(tmp_path / "two", prune=prune)) == digests(undisturbed)


def test_the_pruner_obd_uses_the_curvature(tmp_path: Path) -> None:
    """It prunes as many weights as magnitude does, but others."""
    prune = {"name": "obd", "sparsity": 0.9}
    outcome = train_and_compress(tmp_path, prune=prune, quantize={"name": "none"})
    assert outcome.points[0].sparsity == pytest.approx(0.9, abs=1e-3)
    gradually = train_and_compress(tmp_path, prune={**prune, "gradual": {"epochs": 1}}, quantize={"name": "none"})
    assert gradually.points[0].sparsity == pytest.approx(0.9, abs=1e-3)


def test_a_distilled_run_is_resumed_with_its_teacher(finished: tuple[Outcome, Recorder], tmp_path: Path) -> None:
    """The baseline's weights stay until the end; without an interruption it gives the same bundles."""
    recover = {"epochs": 2, "centroid_epochs": 1, "distill": {"share": 1.0}}
    undisturbed = train_and_compress(tmp_path / "one", recover=recover)

    def at_the_first_recovery(events: list[tuple[str, object]]) -> bool:
        return events[-1] == ("phase", "recover")

    with pytest.raises(KeyboardInterrupt):
        train_and_compress(tmp_path / "two", Recorder(crash=at_the_first_recovery), recover=recover)
    recorder = Recorder()
    resumed = train_and_compress(tmp_path / "two", recorder, recover=recover)
    assert digests(resumed) == digests(undisturbed)
    assert {row["phase"] for row in recorder.of("metric")} == {"prune", "recover", "centroids"}
    assert digests(undisturbed) != digests(finished[0])


@pytest.mark.parametrize("pruner", ["magnitude", "obd"])
@pytest.mark.parametrize("gradual", [0, 2])
def test_a_net_of_which_nothing_is_compressible_is_trained_and_kept_whole(
    tmp_path: Path, pruner: str, gradual: int
) -> None:
    """Everything that looks at weights on the way sees none, the curvature of the loss included."""
    outcome = train_and_compress(
        tmp_path,
        compressible={"exclude": ["*"]},
        prune={"name": pruner, "sparsity": 0.5, "gradual": {"epochs": gradual}},
        quantize={"name": "ecsq", "sensitivity": 1.0},
    )
    bundle = open_bundle(outcome.bundles[0])

    assert bundle.weights().compressible_parameters == 0
    assert outcome.points[0].accuracy is not None
    assert outcome.points[0].accuracy > 50


@pytest.mark.parametrize("target", [{"max_kl": 0.02}, {"min_agreement": 97.0}])
def test_a_target_for_outputs_is_searched_without_training(tmp_path: Path, target: dict[str, float]) -> None:
    """The smallest network whose outputs have changed no more, on the validation split; no label is needed for it."""
    untrained = {
        "training": {"epochs": 0, "device": "cpu"},
        "recover": {"epochs": 0, "centroid_epochs": 0},
        "method": {"name": "none"},
        "prune": {"name": "magnitude", "sparsity": 0.0},
        "quantize": {"name": "auto"},
    }
    outcome = train_and_compress(tmp_path, target=target, **untrained)
    best = outcome.points[outcome.selected]

    def meets(point: Point) -> bool:
        kl, agreement = point.kl_validation, point.agreement_validation
        assert kl is not None
        assert agreement is not None
        return kl <= target["max_kl"] if "max_kl" in target else agreement >= target["min_agreement"]

    assert best.bytes.total == min(point.bytes.total for point in outcome.points if meets(point))
    assert any(not meets(point) for point in outcome.points) or "min_agreement" in target
    assert {point.quantizer for point in outcome.points} == {"auto"}


def test_choices_are_made_on_validation_data(tmp_path: Path) -> None:
    """A tenth of the training data by default; test data are reported beside; 0 is warned about."""
    observer = Recorder()
    data = blobs()
    wrong = replace(data, test=replace(data.test, targets=(data.test.labels + 1) % 4))
    made = run(training_spec(target={"max_accuracy_drop": 5}), Inputs(None, wrong, tmp_path / "a"), observer)
    point = made.points[made.selected]

    assert point.metric is not None
    assert (point.metric.name, point.metric.value, point.metric.validation) == (
        "accuracy",
        point.accuracy,
        point.accuracy_validation,
    )
    assert (point.accuracy or 0) < 30 < 90 < (point.accuracy_validation or 0)
    assert point.kl is not None
    assert point.agreement is not None
    assert not any("there is no validation split" in line for line in observer.of("log"))
    train_and_compress(tmp_path / "b", observer, validation=0, prune={"name": "magnitude", "sparsity": 0.5})
    assert any("there is no validation split" in line for line in observer.of("log"))
