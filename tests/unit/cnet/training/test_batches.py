"""Order, augmentation and scaling of batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cnet.errors import SpecError
from cnet.training import batches
from cnet.training.config import Augment, Preprocess
from cnet.training.device_splits import DeviceSplit, load_splits
from tests.small_training import small_dataset, small_trainer

CPU = torch.device("cpu")


def images(preprocess: Preprocess | None = None) -> DeviceSplit:
    """The training split of the small data set: 32 images."""
    return load_splits(small_dataset(), small_trainer().network, preprocess or Preprocess(), CPU)["train"]


def collect(size: int, augment: Augment | None = None, epoch: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """All batches of one epoch."""
    random = batches.epoch_generator(0, "finetune", epoch)
    return [(x, y) for (x,), y in batches.random_batches(images(), size, augment or Augment(), random)]


@pytest.mark.parametrize(("size", "sizes"), [(32, [32]), (31, [16, 16]), (10, [8, 8, 8, 8]), (1, [1] * 32)])
def test_batches_have_almost_equal_sizes_and_hold_every_image_once(size: int, sizes: list[int]) -> None:
    """The last batch is not much smaller than the others."""
    found = collect(size)
    assert [len(x) for x, _ in found] == sizes
    rows = sorted(tuple(row.reshape(-1).tolist()) for x, _ in found for row in x)
    assert rows == sorted(tuple(row.reshape(-1).tolist()) for row in images().inputs[0] / 255)


def test_targets_that_are_maps_are_not_augmented() -> None:
    """They would stay where they are while the images move."""
    split = images()
    maps = DeviceSplit(split.inputs, torch.zeros(32, *split.inputs[0].shape[2:]), split.scalings)

    next(batches.random_batches(maps, 8, Augment(), batches.epoch_generator(0, "finetune", 0)))
    with pytest.raises(SpecError, match="the targets are maps of 8x8 pixels"):
        next(batches.random_batches(maps, 8, Augment(flip=True), batches.epoch_generator(0, "finetune", 0)))


def test_order_follows_seed_stage_and_epoch() -> None:
    """The same three give the same order, and each of them changes it."""
    draws = {
        key: torch.randperm(50, generator=batches.epoch_generator(*key)).tolist()
        for key in ((0, "a", 0), (1, "a", 0), (0, "b", 0), (0, "a", 1))
    }
    assert len({tuple(order) for order in draws.values()}) == 4
    assert draws[0, "a", 0] == torch.randperm(50, generator=batches.epoch_generator(0, "a", 0)).tolist()


def test_pixels_are_scaled_then_normalised() -> None:
    """uint8 is divided by 255, float32 is not; then (x - mean) / std."""
    split = images(Preprocess(mean=(0.25,), std=(0.5,)))
    bytes_ = torch.tensor([[[[0, 255]]]], dtype=torch.uint8)
    assert split.scaled([bytes_])[0].reshape(-1).tolist() == [-0.5, 1.5]
    assert split.scaled([torch.tensor([[[[0.25, 4.0]]]])])[0].reshape(-1).tolist() == [0, 7.5]


def test_shifted_images_are_shifted_copies_filled_with_zeros() -> None:
    """Every image is one of the nine shifts of a source image."""
    originals = (images().inputs[0] / 255).numpy()
    padded = np.pad(originals, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = {padded[i, :, r : r + 8, c : c + 8].tobytes() for i in range(32) for r in range(3) for c in range(3)}
    shifted = torch.cat([x for x, _ in collect(10, Augment(shift=1))]).numpy()
    assert all(row.tobytes() in moves for row in shifted)
    assert len({row.tobytes() for row in shifted} - {row.tobytes() for row in originals}) > 10


def test_flipped_images_are_mirrored_left_and_right() -> None:
    """About half of the images are mirrored, with their labels unchanged."""
    originals = {
        row.tobytes(): int(y) for row, y in zip((images().inputs[0] / 255).numpy(), images().targets, strict=True)
    }
    flipped = 0
    for x, y in collect(10, Augment(flip=True)):
        for row, label in zip(x.numpy(), y.tolist(), strict=True):
            mirrored = row.tobytes() not in originals
            flipped += mirrored
            source = row[:, :, ::-1].copy() if mirrored else row
            assert originals[source.tobytes()] == label
    assert 5 < flipped < 27
