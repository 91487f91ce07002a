"""Images on the device, and the order, changes and scaling in which batches of them reach the net."""

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
class Images:
    """One split of a data set on the device.

    Attributes:
        x: images as they come, uint8 or float32, shape (n, channels, height, width).
        y: int64 labels, shape (n,).
        mean, std: float32, shape (channels, 1, 1) or (1, 1, 1): what is subtracted and divided by after scaling.

    """

    x: Tensor
    y: Tensor
    mean: Tensor
    std: Tensor

    def __len__(self) -> int:
        return len(self.x)

    def scaled(self, x: Tensor) -> Tensor:
        """What the net takes in: float32, uint8 divided by 255, then (x - mean) / std."""
        values = x.to(torch.float32)
        return ((values / 255 if x.dtype == torch.uint8 else values) - self.mean) / self.std


def load(dataset: Dataset, preprocess: Preprocess, device: torch.device) -> tuple[Images, Images]:
    """Both splits on the device.

    Raises:
        DatasetError: (``empty``) a split has no image; (``labels_out_of_range``) a label is negative.
        SpecError: mean or std has neither one value nor one a channel.

    """
    mean = _by_channel("mean", preprocess.mean, dataset.input_shape[0]).to(device)
    std = _by_channel("std", preprocess.std, dataset.input_shape[0]).to(device)
    splits = {"train": (dataset.x_train, dataset.y_train), "test": (dataset.x_test, dataset.y_test)}
    for name, (x, y) in splits.items():
        _check(name, x, y)
    train, test = (
        Images(torch.tensor(x, device=device), torch.tensor(y, device=device), mean, std) for x, y in splits.values()
    )
    return train, test


def generator(seed: int, stage: str, epoch: int) -> torch.Generator:
    """The source of all randomness of one epoch; the same for the same three, so that a resume repeats it."""
    hashed = hashlib.sha256(f"{seed}/{stage}/{epoch}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(hashed[:7], "big"))


def batch_count(images: int, batch_size: int) -> int:
    """Number of batches of one epoch."""
    return -(-images // batch_size)


def epoch_batches(
    images: Images, batch_size: int, augment: Augment, random: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """All images once, in random order, scaled: (x, y) by batches.

    Batches are of ``batch_size`` or less and differ by one image at most: a short last batch would disturb the
    statistics of batch norm more than it teaches.
    """
    order = torch.randperm(len(images), generator=random)
    changes = _Changes.draw(augment, images.x, random)
    chosen = order.to(images.x.device)
    for rows in chosen.tensor_split(batch_count(len(images), batch_size)):
        yield images.scaled(changes.apply(images.x[rows], rows)), images.y[rows]


def ordered_batches(images: Images, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """All images once, in order, unchanged, scaled: (x, y) by batches."""
    for start in range(0, len(images), batch_size):
        part = slice(start, start + batch_size)
        yield images.scaled(images.x[part]), images.y[part]


@dataclass(frozen=True, eq=False)
class _Changes:
    """What happens to each image in one epoch: shifts, shape (n, 2), 0..2*limit; flips, bool, shape (n,)."""

    limit: int
    shifts: Tensor | None
    flips: Tensor | None

    @classmethod
    def draw(cls, augment: Augment, like: Tensor, random: torch.Generator) -> _Changes:
        size = 2 * augment.shift + 1
        shifts = torch.randint(size, (len(like), 2), generator=random) if augment.shift else None
        flips = torch.randint(2, (len(like),), generator=random).bool() if augment.flip else None
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
    """Each image cut out of its zero-padded self at its own offset."""
    count, _, height, width = x.shape
    padded = torch.nn.functional.pad(x, (limit, limit, limit, limit))
    down = shifts[:, 0, None] + torch.arange(height, device=x.device)
    right = shifts[:, 1, None] + torch.arange(width, device=x.device)
    image = torch.arange(count, device=x.device)[:, None, None]
    return padded.movedim(1, 3)[image, down[:, :, None], right[:, None, :]].movedim(3, 1).contiguous()


def _by_channel(name: str, values: tuple[float, ...], channels: int) -> Tensor:
    if len(values) not in (1, channels):
        raise SpecError(
            f"preprocess.{name} has {len(values)} values, but the images have {channels} channels: "
            f"give one value, or one a channel"
        )
    return torch.tensor(values, dtype=torch.float32).reshape(-1, 1, 1)


def _check(name: str, x: npt.NDArray[np.generic], y: npt.NDArray[np.int64]) -> None:
    if len(x) == 0:
        raise DatasetError(f"the {name} split of the data set has no image", code="empty")
    if y.min() < 0:
        raise DatasetError(
            f"the {name} split has the label {int(y.min())}: labels start at 0", code="labels_out_of_range"
        )
