"""Images on the device, and the order, augmentation and scaling in which batches of them reach the network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cnet.data import Dataset
from cnet.errors import DatasetError, SpecError
from cnet.training.config import Augment, Preprocess


@dataclass(frozen=True, eq=False)
class ImageSplit:
    """One split of a data set on the device.

    Attributes:
        x: unscaled images, shape (n, channels, height, width), uint8 or float32.
        y: labels, shape (n,), int64.
        mean: subtracted from scaled images, shape (channels, 1, 1) or (1, 1, 1), float32.
        std: divides scaled images after that, same shapes, float32.

    """

    x: Tensor
    y: Tensor
    mean: Tensor
    std: Tensor

    def __len__(self) -> int:
        return len(self.x)

    def scaled(self, x: Tensor) -> Tensor:
        """What the network takes in for the images ``x``: float32, uint8 divided by 255, then (x - mean) / std."""
        values = x.to(torch.float32)
        return ((values / 255 if x.dtype == torch.uint8 else values) - self.mean) / self.std


def load_images(dataset: Dataset, preprocess: Preprocess, device: torch.device) -> tuple[ImageSplit, ImageSplit]:
    """Copy the training and the test split to the device.

    Raises:
        DatasetError: (``empty``) a split has no image; (``labels_out_of_range``) a label is negative.
        SpecError: mean or std has neither one value nor one for each channel.

    """
    mean = _by_channel("mean", preprocess.mean, dataset.input_shape[0]).to(device)
    std = _by_channel("std", preprocess.std, dataset.input_shape[0]).to(device)
    splits = {"training": dataset.train, "test": dataset.test}
    for name, split in splits.items():
        _check_split(name, split.input, split.labels)
    train, test = (
        ImageSplit(torch.tensor(split.input, device=device), torch.tensor(split.labels, device=device), mean, std)
        for split in splits.values()
    )
    return train, test


def epoch_generator(seed: int, stage: str, epoch: int) -> torch.Generator:
    """A source of random numbers on the CPU for one epoch: the same seed, stage and epoch give the same numbers."""
    hashed = hashlib.sha256(f"{seed}/{stage}/{epoch}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(hashed[:7], "big"))


def batch_count(images: int, batch_size: int) -> int:
    """Number of batches of one epoch."""
    return -(-images // batch_size)


def random_batches(
    images: ImageSplit, batch_size: int, augment: Augment, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield all images once in random order, augmented and scaled, as batches (images, labels).

    No batch is larger than ``batch_size``, and the sizes differ by one at most: a much smaller last batch would disturb
    the statistics of batch normalization more than it teaches.
    """
    order = torch.randperm(len(images), generator=generator)
    augmentation = _Augmentation.draw(augment, images.x, generator)
    chosen = order.to(images.x.device)
    for rows in chosen.tensor_split(batch_count(len(images), batch_size)):
        yield images.scaled(augmentation.apply(images.x[rows], rows)), images.y[rows]


def ordered_batches(images: ImageSplit, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield all images once in their order, scaled and not augmented, as batches (images, labels)."""
    for start in range(0, len(images), batch_size):
        part = slice(start, start + batch_size)
        yield images.scaled(images.x[part]), images.y[part]


@dataclass(frozen=True, eq=False)
class _Augmentation:
    """Random changes of all images in one epoch: shifts, int64, shape (n, 2), 0..2*limit; flips, bool, shape (n,)."""

    limit: int
    shifts: Tensor | None
    flips: Tensor | None

    @classmethod
    def draw(cls, augment: Augment, like: Tensor, generator: torch.Generator) -> _Augmentation:
        size = 2 * augment.shift + 1
        shifts = torch.randint(size, (len(like), 2), generator=generator) if augment.shift else None
        flips = torch.randint(2, (len(like),), generator=generator).bool() if augment.flip else None
        return cls(
            augment.shift,
            None if shifts is None else shifts.to(like.device),
            None if flips is None else flips.to(like.device),
        )

    def apply(self, x: Tensor, rows: Tensor) -> Tensor:
        if self.flips is not None:
            x = torch.where(self.flips[rows, None, None, None], x.flip(3), x)
        return x if self.shifts is None else _shifted(x, self.shifts[rows], self.limit)


def _shifted(x: Tensor, shifts: Tensor, limit: int) -> Tensor:
    """Each image, padded with zeros and cropped at its own offset."""
    count, _, height, width = x.shape
    padded = torch.nn.functional.pad(x, (limit, limit, limit, limit))
    down = shifts[:, 0, None] + torch.arange(height, device=x.device)
    right = shifts[:, 1, None] + torch.arange(width, device=x.device)
    image = torch.arange(count, device=x.device)[:, None, None]
    return padded.movedim(1, 3)[image, down[:, :, None], right[:, None, :]].movedim(3, 1).contiguous()


def _by_channel(name: str, values: tuple[float, ...], channels: int) -> Tensor:
    if len(values) not in (1, channels):
        raise SpecError(
            f"preprocess.{name}: there are {len(values)} values for images of {channels} channels. "
            f"Give one value, or one for each channel."
        )
    return torch.tensor(values, dtype=torch.float32).reshape(-1, 1, 1)


def _check_split(name: str, x: npt.NDArray[np.generic], y: npt.NDArray[np.int64]) -> None:
    if len(x) == 0:
        raise DatasetError(f"data set: the {name} split has no image. Add images to it.", code="empty")
    if y.min() < 0:
        raise DatasetError(
            f"data set: the {name} split has the label {int(y.min())}. Number the classes from 0.",
            code="labels_out_of_range",
        )
