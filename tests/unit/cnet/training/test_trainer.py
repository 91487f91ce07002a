"""The trainer: its results, their reproducibility, and its errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cnet import dtypes
from cnet.data import Split
from cnet.errors import ArchitectureMismatchError, DatasetError, SpecError, StoppedError, TrainingError
from cnet.methods import METHODS
from cnet.models import ARCHITECTURES
from cnet.training.config import Augment, Optimizer, Preprocess
from cnet.training.stage import TrainingStage
from cnet.weights import Selection, Tensor, Weights
from tests.small_training import Recorder, same_bits, small_dataset, small_trainer, small_training


def as_type(weights: Weights, name: str) -> Weights:
    """The same weights with all floating-point tensors in the element type ``name``."""
    tensors = [
        Tensor(t.name, name, dtypes.narrow(t.data.astype(np.float64), name)) if t.dtype == "float32" else t
        for t in weights
    ]
    return Weights.select(tensors)


def test_training_learns() -> None:
    """Accuracy rises from chance to 100 percent."""
    trainer = small_trainer()
    start = trainer.initial(0)
    trained = trainer.train(start, TrainingStage("baseline", small_training(epochs=20)))
    assert trainer.evaluate(trained).accuracy == 100
    assert trainer.evaluate(trained).loss < trainer.evaluate(start).loss


@pytest.mark.parametrize("architecture", ["lenet300_100", "resnet20"])
def test_same_seed_gives_the_same_bits(architecture: str) -> None:
    """Another seed gives another result."""
    stage = TrainingStage("finetune", small_training(epochs=1, augment=Augment(shift=1, flip=True)))
    one, two = (small_trainer(architecture) for _ in range(2))
    other = replace(stage, training=stage.training.model_copy(update={"seed": 1}))
    trained = one.train(one.initial(0), stage)
    assert same_bits(trained, two.train(two.initial(0), stage))
    assert not same_bits(trained, one.train(one.initial(0), other))


def test_a_stop_takes_effect_before_the_first_batch() -> None:
    """No step is taken once the observer asks to stop."""
    trainer = small_trainer(observer=Recorder(stop_after=0))
    with pytest.raises(StoppedError):
        trainer.train(trainer.initial(0), TrainingStage("finetune", small_training()))
    with pytest.raises(StoppedError):
        trainer.evaluate(trainer.initial(0))


def test_fractions_rise_to_one() -> None:
    """There is one after each batch, and none falls."""
    heard: list[float] = []
    trainer = small_trainer()
    trainer.train(trainer.initial(0), TrainingStage("finetune", small_training()), heard.append)
    assert heard == sorted(heard)
    assert len(heard) == 3 * 4 + 1
    assert heard[-1] == 1


def test_metrics_of_an_epoch() -> None:
    """Loss, accuracy, λ and compressibility."""
    observer = Recorder()
    trainer = small_trainer(observer=observer)
    method = METHODS.create("cnet", ramp={"start": 0.5, "step": 0.25})
    trained = trainer.train(trainer.initial(0), TrainingStage("finetune", small_training(epochs=2), method))
    vector = trained.vector().astype(np.float64)
    assert [row["lambda"] for row in observer.metrics] == [0.5, 0.75]
    assert observer.metrics[1] == {
        "phase": "finetune",
        "epoch": 2,
        "epochs": 2,
        "loss": observer.metrics[1]["loss"],
        "train_accuracy": observer.metrics[1]["train_accuracy"],
        "lambda": 0.75,
        "compressibility": pytest.approx(np.abs(vector).sum() / np.linalg.norm(vector), rel=1e-6),
    }


def test_the_compressibility_loss_is_lowered() -> None:
    """The loss ends lower with the penalty than without."""
    found = {}
    for name, method in (("plain", None), ("cnet", METHODS.create("cnet", **{"lambda": 0.1}))):
        observer = Recorder()
        trainer = small_trainer(observer=observer)
        trainer.train(trainer.initial(0), TrainingStage("finetune", small_training(epochs=5), method))
        found[name] = observer.metrics[-1]["compressibility"]
    assert found["cnet"] < 0.9 * found["plain"]


def test_no_epochs_change_nothing() -> None:
    """The same weights are returned."""
    trainer = small_trainer()
    start = trainer.initial(0)
    assert trainer.train(start, TrainingStage("finetune", small_training(epochs=0))) is start


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64"])
def test_weights_are_returned_in_their_own_type(name: str) -> None:
    """They are trained as float32."""
    trainer = small_trainer("resnet20")
    start = as_type(trainer.initial(0), name)
    keep = np.arange(start.compressible_parameters) % 2 == 0
    trained = trainer.train(start, TrainingStage("recover", small_training(epochs=1), mask=keep))
    assert [(t.name, t.dtype, t.shape) for t in trained] == [(t.name, t.dtype, t.shape) for t in start]
    assert not same_bits(trained, start)
    assert not trained.vector()[~keep].any()


def test_tied_weights_stay_tied() -> None:
    """Tied tensors are trained as one parameter."""
    trainer = small_trainer("resnet20")
    start = trainer.initial(0)
    first, second = "layer1.0.conv1.weight", "layer1.0.conv2.weight"
    tensors = [Tensor(t.name, t.dtype, start[first].data) if t.name == second else t for t in start]
    trained = trainer.train(
        Weights.select(tensors, tied=[(first, second)]), TrainingStage("finetune", small_training(epochs=1))
    )
    assert trained[first].data.tobytes() == trained[second].data.tobytes()
    assert trained[first].data.tobytes() != start[first].data.tobytes()


def test_batches_of_bfloat16_autocast_train_float32_weights() -> None:
    """Autocast does not change the type of the weights."""
    trainer = small_trainer("resnet20")
    trained = trainer.train(trainer.initial(0), TrainingStage("x", small_training(epochs=1, precision="bfloat16")))
    assert trained["conv1.weight"].dtype == "float32"
    assert np.isfinite(trained.vector()).all()


@pytest.mark.parametrize("batch_size", [1, 31, 1000])
def test_any_batch_size_works(batch_size: int) -> None:
    """A batch of one, a last batch of one, and a batch larger than the data set."""
    trainer = small_trainer("resnet20", dataset=small_dataset(8))
    trained = trainer.train(trainer.initial(0), TrainingStage("x", small_training(epochs=1, batch_size=batch_size)))
    assert np.isfinite(trained.vector()).all()


def test_divergence_is_an_error_with_advice(tmp_path: Path) -> None:
    """A loss that is not finite ends the stage."""
    training = small_training(optimizer=Optimizer(name="sgd", learning_rate=1000.0), epochs=50)
    trainer = small_trainer()
    with pytest.raises(TrainingError, match="lower learning_rate") as caught:
        trainer.train(trainer.initial(0), TrainingStage("finetune", training, state_file=tmp_path / "state.pt"))
    assert caught.value.code == "diverged"


def test_weights_of_another_net_are_refused() -> None:
    """Names and shapes do not match."""
    with pytest.raises(ArchitectureMismatchError, match="not a resnet20"):
        small_trainer("resnet20").evaluate(small_trainer().initial(0))


def test_integers_in_place_of_weights_are_refused() -> None:
    """Names and shapes match, but the element type does not."""
    trainer = small_trainer()
    tensors = [
        Tensor(t.name, "int32", t.data.astype("<i4")) if t.name == "fc1.weight" else t for t in trainer.initial(0)
    ]
    with pytest.raises(ArchitectureMismatchError, match="holds int32"):
        trainer.evaluate(Weights.select(tensors))


def test_a_net_with_more_outputs_than_classes_is_trained() -> None:
    """The checkpoint decides the number of outputs."""
    big = small_trainer(dataset=small_dataset(classes=6)).initial(0)
    trained = small_trainer().train(big, TrainingStage("finetune", small_training(epochs=1)))
    assert trained["fc3.weight"].shape == (6, 100)


def test_labels_beyond_the_outputs_are_refused() -> None:
    """The data set has more classes than the network has outputs."""
    small = small_trainer().initial(0)
    with pytest.raises(DatasetError) as caught:
        small_trainer(dataset=small_dataset(classes=6)).evaluate(small)
    assert caught.value.code == "labels_out_of_range"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({"train": replace(small_dataset().train, targets=np.full(32, -1, np.int64))}, "labels_out_of_range"),
        ({"test": Split.of(np.zeros((0, 1, 8, 8), np.uint8), np.zeros(0, np.int64))}, "empty"),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused(data: dict[str, Split], code: str) -> None:
    """Negative labels, and a split without images."""
    trainer = small_trainer(dataset=replace(small_dataset(), **data))
    with pytest.raises(DatasetError) as caught:
        trainer.train(trainer.initial(0), TrainingStage("finetune", small_training()))
    assert caught.value.code == code


def test_scaling_of_the_wrong_length_is_refused() -> None:
    """There is one value, or one for each channel."""
    trainer = small_trainer(preprocess=Preprocess(mean=(0.1, 0.2)))
    with pytest.raises(SpecError, match=r"preprocess.mean: there are 2 values for an input of 1 channels"):
        trainer.evaluate(trainer.initial(0))


def test_outputs_that_are_not_finite_are_an_error() -> None:
    """Weights of NaN cannot be evaluated."""
    trainer = small_trainer()
    start = trainer.initial(0)
    with pytest.raises(TrainingError) as caught:
        trainer.evaluate(start.with_vector(np.full_like(start.vector(), np.nan)))
    assert caught.value.code == "not_finite"


def test_fresh_weights_follow_the_selection() -> None:
    """The user's choice of compressible tensors holds from the start."""
    weights = small_trainer(selection=Selection(exclude=("fc3.*",))).initial(0)
    assert weights.compressible == ("fc1.weight", "fc2.weight")


def test_every_architecture_can_be_trained_by_name() -> None:
    """One epoch each, on images large enough for all."""
    data = small_dataset(4, side=16)
    for name in ("lenet5", "vgg16_cifar"):
        trainer = small_trainer(ARCHITECTURES.create(name), dataset=data)
        trained = trainer.train(trainer.initial(0), TrainingStage("x", small_training(epochs=1)))
        assert np.isfinite(trained.vector()).all()
