"""The calibration inputs: drawn, checked, and divided into two halves that share few sources.

Settings found on one half are judged on the other. Inputs often come from few sources, such as several crops of one
photograph; a random division would have each source in both halves, and settings that fit these sources alone would
look good. Samples are therefore ordered by the direction in which the network's outputs differ most (their first
principal component). There are two divisions:

- Halves that are unlike, below and above the middle, are for what does harm where inputs of another kind come:
  steps that differ by row and column (``axis_steps``).
- Halves that are alike consist of every other one of some groups. A group is what remains of the samples when they are
  cut in the middle several times, each time along the first principal component of their outputs, so that samples of
  one source mostly stay together. They tell what to expect of inputs from further sources (``second_moments``).

Where there are enough samples, those at both ends are set apart, to choose among whole results.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cnet.calibrate.config import Calibrate
from cnet.data import Dataset, Split
from cnet.errors import DatasetError
from cnet.training.config import Preprocess
from cnet.training.device_splits import DeviceSplit, load_splits
from cnet.training.networks.builder import NetworkBuilder

Batch = tuple[Tensor, ...]

_APART = 8  # one in so many samples is set apart
_LEAST_TO_SET_APART = 32
_CUTS = 3  # of the samples into groups: 8 of them
_BATCH = 32
_SEED = 0


@dataclass(frozen=True, eq=False)
class Samples:
    """Calibration inputs in batches, each of which belongs to one of two halves.

    Attributes:
        batches: what the network takes in, each tensor of shape (batch, ...).
        second_half: for each batch, whether it is of the second half.
        apart: batches of samples that are in neither half, on which results are judged; empty where there are few.
    """

    batches: tuple[Batch, ...]
    second_half: tuple[bool, ...]
    apart: tuple[Batch, ...] = ()

    def __len__(self) -> int:
        return sum(len(batch[0]) for batch in self.batches)


def draw(split: Split, settings: Calibrate) -> Split:
    """The inputs that are used: all of them, or some drawn by a fixed seed, in their order; without targets.

    Raises:
        DatasetError: (``constant_inputs``) all samples are the same.
    """
    count = len(split)
    rows = np.arange(count)
    if count > settings.samples:
        rows = np.sort(np.random.default_rng(_SEED).permutation(count)[: settings.samples])
    inputs = {name: values[rows] for name, values in split.inputs.items()}
    if len(rows) > 1 and all(bool(np.all(values == values[:1])) for values in inputs.values()):
        raise DatasetError(
            f"calibrate.inputs: all {len(rows)} samples are the same. Give inputs of the kind that the network is "
            "used on.",
            code="constant_inputs",
        )
    return Split(inputs)


def on_device(
    split: Split, network: NetworkBuilder, preprocess: Preprocess | None, device: torch.device
) -> DeviceSplit:
    """The inputs on the device.

    Raises:
        DatasetError: (``wrong_input_shape``) the network does not take them; both shapes are stated.
    """
    unlabelled = Split(split.inputs, np.zeros(len(split), np.int64))
    return load_splits(Dataset(unlabelled, unlabelled), network, preprocess or Preprocess(), device)["train"]


def in_batches(split: DeviceSplit, size: int | None = None) -> tuple[Batch, ...]:
    """What the network takes in, in batches of one size but the last.

    Args:
        split: the inputs.
        size: of a batch; None: one that suits the network.
    """
    size = size or split.fixed_batch or _BATCH
    return tuple(split.rows(slice(start, start + size)) for start in range(0, len(split), size))


def in_alike_halves(split: DeviceSplit, outputs: Tensor) -> Samples:
    """The inputs divided into two halves that are alike and share few sources, as far as the outputs tell.

    Args:
        split: the inputs.
        outputs: of the original network for each, shape (n, ...).
    """
    *rows, apart = alike_halves(outputs)
    halves = [_batches(split, half) for half in rows]
    second = [half == 1 for half, batches in enumerate(halves) for _ in batches]
    return Samples((*halves[0], *halves[1]), tuple(second), _batches(split, apart))


def alike_halves(outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Samples of both halves of groups, and those that are set apart: int64, shape (m,) each.

    Args:
        outputs: of the original network for each, shape (n, ...).
    """
    vectors = _vectors(outputs)
    inner, apart = _inner_and_apart(vectors)
    groups = _groups(vectors, inner, _CUTS)
    none = torch.empty(0, dtype=torch.int64)
    return torch.cat([none, *groups[::2]]), torch.cat([none, *groups[1::2]]), apart


def unlike_halves(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Samples below and above the middle, without those that are set apart: int64, shape (m,) each.

    Args:
        outputs: of the original network for each, shape (n, ...).
    """
    inner, _ = _inner_and_apart(_vectors(outputs))
    middle = (len(inner) + 1) // 2
    return inner[:middle], inner[middle:]


def _inner_and_apart(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The samples in their order along the first principal component, and those at both ends, which are set apart."""
    order = _ordered(vectors, torch.arange(len(vectors)))
    ends = len(order) // (2 * _APART) if len(order) >= _LEAST_TO_SET_APART else 0
    return order[ends : len(order) - ends], torch.cat([order[:ends], order[len(order) - ends :]])


def _groups(vectors: Tensor, rows: Tensor, cuts: int) -> list[Tensor]:
    """Some of the samples, int64, shape (m,), in up to 2^cuts groups that are alike and of about one size."""
    if not cuts or len(rows) < 2:
        return [rows]
    ordered, middle = _ordered(vectors, rows), (len(rows) + 1) // 2
    return [*_groups(vectors, ordered[:middle], cuts - 1), *_groups(vectors, ordered[middle:], cuts - 1)]


def _batches(split: DeviceSplit, rows: Tensor) -> tuple[Batch, ...]:
    """Some samples, int64, shape (m,), in their order, in batches of one size but the last."""
    size, ordered = split.fixed_batch or _BATCH, rows.sort()[0].to(split.device)
    return tuple(split.rows(ordered[start : start + size]) for start in range(0, len(ordered), size))


def _vectors(outputs: Tensor) -> Tensor:
    """One vector for each sample, the mean over its decisions: float64, shape (n, classes)."""
    flat = outputs.double().cpu()
    return flat.reshape(len(flat), -1, flat.shape[-1]).mean(1) if flat.dim() > 1 else flat[:, None]


def _ordered(vectors: Tensor, rows: Tensor) -> Tensor:
    """Some of the samples along the first principal component of their vectors: int64, shape (m,)."""
    centred = vectors[rows] - vectors[rows].mean(0)
    along = torch.linalg.eigh(centred @ centred.T)[1][:, -1]
    return rows[torch.argsort(along * torch.sign(along[along.abs().argmax()]), stable=True)]
