"""The order, augmentation and scaling in which batches of samples reach the network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from cnet.errors import SpecError
from cnet.training.config import Augment
from cnet.training.device_splits import DeviceSplit, Inputs


def epoch_generator(seed: int, stage: str, epoch: int) -> torch.Generator:
    """A source of random numbers on the CPU for one epoch: the same seed, stage and epoch give the same numbers."""
    hashed = hashlib.sha256(f"{seed}/{stage}/{epoch}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(hashed[:7], "big"))


def batch_count(split: DeviceSplit, batch_size: int) -> int:
    """Number of batches of one epoch."""
    return len(split) // split.fixed_batch if split.fixed_batch else -(-len(split) // batch_size)


def random_batches(
    split: DeviceSplit, batch_size: int, augment: Augment, generator: torch.Generator
) -> Iterator[tuple[Inputs, Tensor]]:
    """Yield all samples once in random order, augmented and scaled, as batches (inputs, targets).

    No batch is larger than ``batch_size``, and the sizes differ by one at most: a much smaller last batch would disturb
    the statistics of batch normalization more than it teaches. Where the network fixes the size of a batch, all batches
    have it, and the samples that are left over are dropped.
    """
    order = torch.randperm(len(split), generator=generator)
    augmentation = _Augmentation.draw(augment, split, generator)
    count = batch_count(split, batch_size)
    chosen = order.to(split.device)[: split.fixed_batch * count if split.fixed_batch else None]
    for rows in chosen.tensor_split(count):
        inputs = (augmentation.apply(values[rows], rows) for values in split.inputs)
        yield split.scaled(inputs), split.targets[rows]


def ordered_batches(split: DeviceSplit, batch_size: int) -> Iterator[tuple[Inputs, Tensor]]:
    """Yield all samples once in their order, scaled and not augmented, as batches (inputs, targets)."""
    for start in range(0, len(split), batch_size):
        part = slice(start, start + batch_size)
        yield split.rows(part), split.targets[part]


@dataclass(frozen=True, eq=False)
class _Augmentation:
    """Random changes of all images in one epoch: shifts, int64, shape (n, 2), 0..2*limit; flips, bool, shape (n,).

    All images of a sample change alike.
    """

    limit: int
    shifts: Tensor | None
    flips: Tensor | None

    @classmethod
    def draw(cls, augment: Augment, split: DeviceSplit, generator: torch.Generator) -> _Augmentation:
        if (augment.shift or augment.flip) and all(values.dim() != 4 for values in split.inputs):
            raise SpecError("training.augment: the data set has no images. Leave augment out.")
        places = tuple(split.targets.shape[1:])[-2:]
        are_maps = any(values.dim() == 4 and values.shape[2:] == places for values in split.inputs)
        if (augment.shift or augment.flip) and are_maps:
            raise SpecError(
                f"training.augment: the targets are maps of {places[0]}x{places[1]} pixels, as the images are, and "
                "would not move with them. Leave augment out."
            )
        size, count = 2 * augment.shift + 1, len(split)
        shifts = torch.randint(size, (count, 2), generator=generator) if augment.shift else None
        flips = torch.randint(2, (count,), generator=generator).bool() if augment.flip else None
        return cls(
            augment.shift,
            None if shifts is None else shifts.to(split.device),
            None if flips is None else flips.to(split.device),
        )

    def apply(self, x: Tensor, rows: Tensor) -> Tensor:
        if x.dim() != 4:
            return x
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
