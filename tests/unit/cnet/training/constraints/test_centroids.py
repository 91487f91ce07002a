"""Training of centroids, and of what is not compressible around frozen weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.errors import StoppedError
from cnet.quantize import QUANTIZERS
from cnet.symbols import Symbols
from cnet.training.config import Optimizer
from cnet.training.constraints.centroids import LabelSums, SharedCentroids, sorted_symbols
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer
from cnet.weights import Weights
from tests.small_training import Recorder, coarse, small_trainer, small_training

SETTINGS = [
    Optimizer(name="adam", learning_rate=0.003),
    Optimizer(name="sgd", learning_rate=0.05),
]


def trained_net(trainer: Trainer) -> Weights:
    """Weights after three epochs from scratch."""
    return trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=3)))


@pytest.mark.parametrize("optimizer", SETTINGS)
def test_centroids_move_and_labels_stay(optimizer: Optimizer) -> None:
    """Pruned weights stay zero, and the training loss falls."""
    trainer = small_trainer()
    net = trained_net(trainer)
    symbols = coarse(net)
    stage = TrainingStage("centroids", small_training(optimizer=optimizer))
    tuned, moved = trainer.train_centroids(net, symbols, stage)
    on_train = replace(trainer, dataset=replace(trainer.dataset, test=trainer.dataset.train))
    assert np.array_equal(tuned.vector(), moved.vector())
    assert np.array_equal(moved.keep, symbols.keep)
    assert moved.labels is not None
    assert moved.labels.dtype == np.uint8
    assert not np.array_equal(moved.centroids, symbols.centroids)
    assert (np.diff(moved.centroids) > 0).all()
    before = net.with_vector(symbols.vector())
    assert on_train.evaluate(tuned).loss < on_train.evaluate(before).loss


def test_centroids_that_training_made_worse_are_not_returned() -> None:
    """With far too high a learning rate the original centroids are returned, and the log says so."""
    observer = Recorder()
    trainer = small_trainer(observer=observer)
    net = trained_net(trainer)
    symbols = coarse(net)
    for decay, words in ((0.0, "no lower loss"), (10.0, "diverged")):
        wild = Optimizer(name="sgd", learning_rate=1000.0, weight_decay=decay)
        training = small_training(optimizer=wild)
        tuned, moved = trainer.train_centroids(net, symbols, TrainingStage("centroids", training))
        assert moved is symbols
        assert np.array_equal(tuned.vector(), symbols.vector())
        assert words in observer.lines[-1]


def test_weights_on_a_grid_are_frozen_and_other_parameters_trained() -> None:
    """Weights keep their bits, biases change, and the training loss falls."""
    trainer = small_trainer()
    net = trained_net(trainer)
    symbols = coarse(net)
    tuned, same = trainer.train_centroids(
        net, symbols, TrainingStage("centroids", small_training(), freeze_centroids=True)
    )
    on_train = replace(trainer, dataset=replace(trainer.dataset, test=trainer.dataset.train))
    assert same is symbols
    assert tuned.vector().tobytes() == symbols.vector().tobytes()
    others = [tensor.name for tensor in net if tensor.name not in net.compressible]
    assert any(not np.array_equal(tuned[name].data, net[name].data) for name in others)
    assert on_train.evaluate(tuned).loss < on_train.evaluate(net.with_vector(symbols.vector())).loss


def test_a_grid_without_other_parameters_is_not_trained() -> None:
    """If every tensor is compressible there is nothing to train."""
    trainer = small_trainer()
    net = replace(trainer.initial(0), compressible=tuple(tensor.name for tensor in trainer.initial(0)))
    symbols = coarse(net)
    tuned, same = trainer.train_centroids(
        net, symbols, TrainingStage("centroids", small_training(), freeze_centroids=True)
    )
    assert same is symbols
    assert np.array_equal(tuned.vector(), symbols.vector())


def test_values_without_labels_are_not_trained() -> None:
    """The quantizer none makes no centroids to train."""
    trainer = small_trainer()
    net = trainer.initial(0)
    keep = np.abs(net.vector()) > 0.1
    symbols = Symbols(keep, None, net.vector()[keep])
    tuned, same = trainer.train_centroids(net, symbols, TrainingStage("centroids", small_training()))
    assert same is symbols
    assert np.array_equal(tuned.vector(), np.where(keep, net.vector(), 0))


def test_a_net_with_everything_pruned_has_no_centroids_to_train() -> None:
    """Weights and symbols are returned as they are."""
    trainer = small_trainer()
    net = trainer.initial(0)
    empty = Symbols(np.zeros(net.compressible_parameters, np.bool_), np.zeros(0, np.uint8), np.zeros(0, np.float32))
    tuned, same = trainer.train_centroids(net, empty, TrainingStage("centroids", small_training()))
    assert same is empty
    assert not tuned.vector().any()


@pytest.mark.parametrize("fixed", [False, True])
def test_a_resumed_training_of_centroids_equals_an_undisturbed_one(tmp_path: Path, fixed: bool) -> None:
    """Centroids and all that is trained with them are part of the saved state."""
    net = trained_net(small_trainer("resnet20"))
    symbols = coarse(net)
    stage = TrainingStage(
        "centroids", small_training(epochs=2), state_file=tmp_path / "state.pt", freeze_centroids=fixed
    )
    whole, expected = small_trainer("resnet20").train_centroids(net, symbols, replace(stage, state_file=None))
    with pytest.raises(StoppedError):
        small_trainer("resnet20", observer=Recorder(stop_after=1)).train_centroids(net, symbols, stage)
    observer = Recorder()
    tuned, resumed = small_trainer("resnet20", observer=observer).train_centroids(net, symbols, stage)
    assert resumed.centroids.tobytes() == expected.centroids.tobytes()
    assert [tensor.data.tobytes() for tensor in tuned] == [tensor.data.tobytes() for tensor in whole]
    assert "centroids: resumes after epoch 1 of 2" in observer.lines


def test_gradient_is_the_sum_over_members_by_their_number() -> None:
    """There are two labels in two tensors, and one weight is pruned."""
    one = torch.nn.Parameter(torch.zeros(2, 2))
    two = torch.nn.Parameter(torch.zeros(1, 2))
    symbols = Symbols(
        np.array([1, 1, 0, 1, 1, 1], np.bool_), np.array([0, 1, 1, 1, 0], np.uint8), np.array([-1.0, 2.0], np.float32)
    )
    shared = SharedCentroids([one, two], symbols)
    assert one.tolist() == [[-1, 2], [0, 2]]
    assert two.tolist() == [[2, -1]]
    one.grad = torch.tensor([[1.0, 2.0], [100.0, 3.0]])
    two.grad = torch.tensor([[4.0, 5.0]])
    shared.before_step()
    (centroids,) = shared.parameters(torch.nn.ParameterList([one, two]))
    assert centroids.grad is not None
    assert centroids.grad.tolist() == [(1 + 5) / 2, (2 + 3 + 4) / 3]


@given(st.integers(0, 2**31), st.integers(1, 9), st.sampled_from([1, 300, 70_000]))
@settings(max_examples=20, deadline=None)
def test_sums_by_label_are_those_of_bincount(seed: int, count: int, entries: int) -> None:
    """For one, two and three levels of rows; labels without entries give 0, and the last label is left out."""
    random = np.random.default_rng(seed)
    labels = random.choice(count + 1, entries, p=random.dirichlet(np.full(count + 1, 0.3)))
    values = random.standard_normal(entries)
    sums = LabelSums(labels, count, torch.device("cpu"))(torch.from_numpy(values))
    expected = np.bincount(labels, values, minlength=count + 1)[:count]
    np.testing.assert_allclose(sums.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_equal_centroids_are_merged() -> None:
    """Centroids are sorted and merged, labels renumbered, and -0 becomes 0."""
    symbols = Symbols(np.ones(5, np.bool_), np.array([0, 1, 2, 3, 1], np.uint8), np.arange(4, dtype=np.float32))
    moved = sorted_symbols(symbols, np.array([3.0, -0.0, 3.0, -5.0], np.float32))
    assert moved.centroids.tolist() == [-5, 0, 3]
    assert not np.signbit(moved.centroids[1])
    assert moved.vector().tolist() == [3, 0, 3, -5, 0]


def test_more_than_256_centroids_need_wide_labels() -> None:
    """Labels are uint16 beyond 256 centroids, and uint8 again once centroids were merged."""
    symbols = Symbols(np.ones(300, np.bool_), np.arange(300, dtype=np.uint16), np.arange(300, dtype=np.float32))
    values = np.arange(300, dtype=np.float32)[::-1].copy()
    wide = sorted_symbols(symbols, values)
    assert wide.labels is not None
    assert wide.labels.dtype == np.uint16
    assert np.array_equal(wide.vector(), values)
    narrow = sorted_symbols(symbols, np.minimum(values, 100))
    assert narrow.labels is not None
    assert narrow.labels.dtype == np.uint8


def test_centroids_of_a_float64_net_stay_float64() -> None:
    """The type of the codebook does not change in training."""
    symbols = Symbols(np.ones(2, np.bool_), np.array([0, 1], np.uint8), np.array([0.5, 1.5]))
    assert sorted_symbols(symbols, np.array([0.25, 1.0], np.float32)).centroids.dtype == np.float64


def test_dither_stays_while_centroids_move() -> None:
    """Every weight is its centroid minus its own dither before and after, and the training loss falls."""
    trainer = small_trainer()
    net = trained_net(trainer)
    vector = net.vector()
    keep = np.abs(vector) > np.median(np.abs(vector))
    symbols = QUANTIZERS.create("universal", step=1.5).symbols(vector, keep, None)
    tensors = [torch.zeros(net[name].shape) for name in net.compressible]

    SharedCentroids(tensors, symbols)
    flat = torch.cat([part.reshape(-1) for part in tensors]).numpy()
    np.testing.assert_allclose(flat, symbols.vector(), atol=1e-6)

    tuned, moved = trainer.train_centroids(
        net, symbols, TrainingStage("centroids", small_training(optimizer=SETTINGS[0]))
    )
    on_train = replace(trainer, dataset=replace(trainer.dataset, test=trainer.dataset.train))
    assert moved.reconstruction == symbols.reconstruction
    assert moved.labels is not None
    assert not np.array_equal(moved.centroids, symbols.centroids)
    assert np.array_equal(tuned.vector(), moved.vector())
    assert np.array_equal(moved.keep, keep)
    assert on_train.evaluate(tuned).loss < on_train.evaluate(net.with_vector(symbols.vector())).loss
    shifts = moved.vector()[keep] - symbols.vector()[keep]
    for label in range(len(symbols.centroids)):  # all that share a value moved by as much
        assert np.ptp(shifts[symbols.labels == label]) < 1e-6


def test_centroids_that_rows_scale_are_refused() -> None:
    """Weights of one label do not share a value then."""
    symbols = QUANTIZERS.create("binary", scope="channel").symbols(
        np.ones(6, np.float32), np.ones(6, bool), None, [(2, 3)]
    )

    with pytest.raises(ValueError, match="scales"):
        SharedCentroids([torch.zeros(2, 3)], symbols)
