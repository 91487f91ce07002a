"""An interrupted training that is resumed gives the same result as an undisturbed one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cnet.errors import StoppedError
from cnet.methods import METHODS
from cnet.training.config import Augment, Optimizer, Preprocess, Schedule
from cnet.training.saved_state import SavedState, load_state, save_state
from cnet.training.stage import TrainingStage
from tests.small_training import Recorder, same_bits, small_dataset, small_trainer, small_training

OPTIMIZERS = [
    Optimizer(name="sgd", learning_rate=0.05, weight_decay=1e-3),
    Optimizer(name="sgd", learning_rate=0.05, nesterov=True),
    Optimizer(name="adam", learning_rate=0.003, weight_decay=1e-3),
    Optimizer(name="adamw", learning_rate=0.003, weight_decay=1e-2),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("after", [1, 2])
def test_a_resumed_training_equals_an_undisturbed_one(optimizer: Optimizer, after: int, tmp_path: Path) -> None:
    """The results have the same bits, and the log names the epoch."""
    training = small_training(
        optimizer=optimizer, schedule=Schedule(name="cosine", warmup_epochs=1), augment=Augment(shift=1)
    )
    method = METHODS.create("cnet", ramp={"start": 0.01, "step": 0.01})
    stage = TrainingStage("finetune", training, method, state_file=tmp_path / "state" / "finetune.pt")
    start = small_trainer().initial(0)
    undisturbed = small_trainer().train(start, replace(stage, state_file=None))
    with pytest.raises(StoppedError):
        small_trainer(observer=Recorder(stop_after=after)).train(start, stage)
    observer = Recorder()
    assert same_bits(small_trainer(observer=observer).train(start, stage), undisturbed)
    assert observer.lines == [f"finetune: resumes after epoch {after} of 3"]
    assert [row["epoch"] for row in observer.metrics] == list(range(after + 1, 4))


def test_a_resumed_masked_training_of_a_net_with_batch_norm_is_equal_too(tmp_path: Path) -> None:
    """Statistics and masks are restored."""
    start = small_trainer("resnet20").initial(0)
    keep = np.abs(start.vector()) > 0.05
    stage = TrainingStage("recover", small_training(epochs=2), mask=keep, state_file=tmp_path / "recover.pt")
    with pytest.raises(StoppedError):
        small_trainer("resnet20", observer=Recorder(stop_after=1)).train(start, stage)
    resumed = small_trainer("resnet20").train(start, stage)
    assert same_bits(resumed, small_trainer("resnet20").train(start, replace(stage, state_file=None)))


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    """Its saved state holds the result."""
    trainer = small_trainer()
    stage = TrainingStage("finetune", small_training(), state_file=tmp_path / "state.pt")
    first = trainer.train(trainer.initial(0), stage)
    observer = Recorder()
    assert same_bits(small_trainer(observer=observer).train(trainer.initial(0), stage), first)
    assert observer.metrics == []


@pytest.mark.parametrize("change", ["weights", "training", "method", "keep", "name", "data", "scaling"])
def test_a_state_of_another_training_is_not_resumed(change: str, tmp_path: Path) -> None:
    """Everything that decides the result is part of the state's identity."""
    trainer = small_trainer()
    start = trainer.initial(0)
    stage = TrainingStage("finetune", small_training(epochs=1), state_file=tmp_path / "state.pt")
    trainer.train(start, stage)
    observer = Recorder()
    changed = small_trainer(observer=observer)
    if change == "weights":
        start = trainer.initial(1)
    elif change == "training":
        stage = replace(stage, training=small_training(epochs=2))
    elif change == "method":
        stage = replace(stage, method=METHODS.create("cnet"))
    elif change == "keep":
        stage = replace(stage, mask=np.ones(start.compressible_parameters, np.bool_))
    elif change == "name":
        stage = replace(stage, name="recover")
    elif change == "data":
        changed = replace(changed, dataset=small_dataset(60))
    else:
        changed = replace(changed, preprocess=Preprocess(mean=(0.5,)))
    changed.train(start, stage)
    assert observer.lines == [
        f"{stage.name}: the saved state belongs to another training; this training starts from its first epoch"
    ]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a state", None])
def test_a_damaged_state_is_ignored(damage: bytes | None, tmp_path: Path) -> None:
    """Empty, foreign or truncated: the training starts again and gives the same result."""
    trainer = small_trainer()
    stage = TrainingStage("finetune", small_training(epochs=1), state_file=tmp_path / "state.pt")
    expected = trainer.train(trainer.initial(0), stage)
    whole = (tmp_path / "state.pt").read_bytes()
    (tmp_path / "state.pt").write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    observer = Recorder()
    assert same_bits(small_trainer(observer=observer).train(trainer.initial(0), stage), expected)
    assert observer.lines == [
        "finetune: the saved state of this training is damaged; the training starts again from its first epoch"
    ]


def test_a_state_that_cannot_be_written_is_an_error_and_leaves_no_draft(tmp_path: Path) -> None:
    """A folder lies where the file should be; the error is the system's own."""
    folder = tmp_path / "state.pt"
    folder.mkdir()
    with pytest.raises(OSError, match=r"state\.pt"):
        save_state(folder, "a", SavedState(1, {}, {}, {}, {}))
    assert list(tmp_path.iterdir()) == [folder]


def test_a_newer_state_replaces_the_former_one(tmp_path: Path) -> None:
    """It is read back as it was saved."""
    file = tmp_path / "new folder" / "state.pt"
    for epochs in (1, 2):
        save_state(file, "a", SavedState(epochs, {}, {}, {"step": epochs}, {}))
    state = load_state(file, "a", print)
    assert state is not None
    assert (state.epochs, state.constraint) == (2, {"step": 2})


def test_saving_leaves_one_file(tmp_path: Path) -> None:
    """No temporary file is left."""
    trainer = small_trainer()
    trainer.train(trainer.initial(0), TrainingStage("finetune", small_training(), state_file=tmp_path / "state.pt"))
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]
