"""Samples on the device, and how they are scaled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cnet.data import Dataset, Split
from cnet.errors import DatasetError, SpecError
from cnet.training.config import Preprocess
from cnet.training.networks.builder import NetworkBuilder, NetworkInput

Inputs = tuple[Tensor, ...]
"""The inputs of a batch, each of shape (batch, ...)."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """How the values of an input become what the network takes in.

    Attributes:
        dtype: element type that the network takes. Integers are passed on as they are.
        mean: subtracted from scaled values, shape (channels, 1, 1), (1, 1, 1) or (1,), float32; None: nothing is.
        std: divides scaled values after that, same shapes, float32.
    """

    dtype: torch.dtype = torch.float32
    mean: Tensor | None = None
    std: Tensor | None = None

    def __call__(self, values: Tensor) -> Tensor:
        """The values as ``dtype``; for a floating-point one uint8 divided by 255, then (values - mean) / std.

        Args:
            values: shape (batch, ...), any element type.

        """
        if not self.dtype.is_floating_point:
            return values.to(self.dtype)
        floats = values.to(torch.float32)
        floats = floats / 255 if values.dtype == torch.uint8 else floats
        if self.mean is not None and self.std is not None:
            floats = (floats - self.mean) / self.std
        return floats.to(self.dtype)


@dataclass(frozen=True, eq=False)
class DeviceSplit:
    """One split of a data set on the device.

    Attributes:
        inputs: unscaled inputs, each of shape (n, ...), any element type.
        targets: what the network should give, shape (n, ...).
        scalings: of each input.
        fixed_batch: the only size of batch that the network can be trained with; None: any.

    """

    inputs: tuple[Tensor, ...]
    targets: Tensor
    scalings: tuple[Scaling, ...]
    fixed_batch: int | None = None

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def device(self) -> torch.device:
        """The device that holds the samples."""
        return self.targets.device

    def scaled(self, inputs: Iterable[Tensor]) -> Inputs:
        """What the network takes in for some ``inputs``, each of shape (batch, ...)."""
        return tuple(scaling(values) for scaling, values in zip(self.scalings, inputs, strict=True))

    def rows(self, rows: Tensor | slice) -> Inputs:
        """What the network takes in for some samples."""
        return self.scaled(values[rows] for values in self.inputs)


def load_splits(
    dataset: Dataset, network: NetworkBuilder, preprocess: Preprocess, device: torch.device
) -> dict[str, DeviceSplit]:
    """Copy a data set to the device: its splits by name.

    Args:
        dataset: inputs and targets.
        network: what takes them.
        preprocess: scaling of images, and of uint8 values.
        device: where to copy it.

    Raises:
        DatasetError: (``empty``) a split has no sample; (``bad_labels``) or no targets; (``labels_out_of_range``) a
            label is negative; (``wrong_input_shape``) the network does not take the inputs.
        SpecError: mean or std has neither one value nor one for each channel.

    """
    check_inputs(network, dataset)
    _check_names(preprocess, dataset)
    fixed = network.fixed_batch
    if fixed is not None and len(dataset.train) < fixed:
        raise DatasetError(
            f"data set: it has {len(dataset.train)} training samples, and {network.name} takes batches of exactly "
            f"{fixed}. Export it with a dynamic batch, or give more samples.",
            code="wrong_input_shape",
        )
    splits = {}
    for name, split in dataset.splits.items():
        _check_split("training" if name == "train" else name, split)
        inputs = tuple(torch.tensor(values, device=device) for values in split.inputs.values())
        taken = zip(split.inputs, inputs, network.inputs, strict=True)
        scalings = tuple(_scaling(values, one, preprocess, input_name) for input_name, values, one in taken)
        splits[name] = DeviceSplit(inputs, torch.tensor(split.targets, device=device), scalings, fixed)
    return splits


def check_inputs(network: NetworkBuilder, dataset: Dataset) -> None:
    """Check that a network can take the inputs of a data set. Raises DatasetError (``wrong_input_shape``)."""
    found = [(values.shape[1:], values.dtype) for values in dataset.train.inputs.values()]
    if len(found) == len(network.inputs) and all(
        _takes(taken, shape, dtype) for taken, (shape, dtype) in zip(network.inputs, found, strict=True)
    ):
        return
    given = ", ".join(f"{dtype.name} of shape {tuple(shape)}" for shape, dtype in found)
    taken = ", ".join(
        f"{one.name}: {one.dtype} of shape ({', '.join('any' if size is None else str(size) for size in one.shape)})"
        for one in network.inputs
    )
    raise DatasetError(
        f"data set: the inputs of a sample are {given}, and {network.name} takes {taken}. Use the data set that the "
        "network was made for.",
        code="wrong_input_shape",
    )


def _takes(taken: NetworkInput, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether an input takes samples of this shape and type: integers as integers, uint8 and numbers as numbers."""
    fits = len(shape) == len(taken.shape) and all(
        size in (None, had) for size, had in zip(taken.shape, shape, strict=True)
    )
    floating = taken.dtype.startswith(("float", "bfloat"))
    return fits and (dtype.kind == "f" or dtype == np.uint8 if floating else dtype.kind in "iub")


def _check_split(name: str, split: Split) -> None:
    if len(split) == 0:
        raise DatasetError(f"data set: the {name} split has no sample. Add samples to it.", code="empty")
    if split.targets is None:
        raise DatasetError(
            f"data set: the {name} split has no targets. Give labels, or take a task that needs none, such as distill.",
            code="bad_labels",
        )
    if split.targets.dtype.kind in "iu" and split.targets.size and split.targets.min() < 0:
        raise DatasetError(
            f"data set: the {name} split has the label {int(split.targets.min())}. Number the classes from 0.",
            code="labels_out_of_range",
        )


def _check_names(preprocess: Preprocess, dataset: Dataset) -> None:
    unknown = sorted(set(preprocess.inputs or ()) - set(dataset.train.inputs))
    if unknown:
        raise SpecError(
            f"preprocess.inputs: the data set has no input {', '.join(unknown)}. "
            f"Use its names: {', '.join(dataset.train.inputs)}."
        )


def _scaling(values: Tensor, taken: NetworkInput, preprocess: Preprocess, name: str) -> Scaling:
    """The scaling of an input. Without one of its own, images are scaled, and uint8 that becomes floating point."""
    dtype, own = getattr(torch, taken.dtype), (preprocess.inputs or {}).get(name)
    if not dtype.is_floating_point or not (own or values.dim() == 4 or values.dtype == torch.uint8):
        return Scaling(dtype)
    scaling = own or preprocess
    return Scaling(dtype, *(_by_channel(one, getattr(scaling, one), values) for one in ("mean", "std")))


def _by_channel(name: str, numbers: tuple[float, ...], values: Tensor) -> Tensor:
    """Numbers that broadcast against an input: by channel of images, by column of tables."""
    channels = values.shape[1] if values.dim() in (2, 4) else 1
    if len(numbers) not in (1, channels):
        raise SpecError(
            f"preprocess.{name}: there are {len(numbers)} values for an input of {channels} channels. "
            f"Give one value, or one for each channel."
        )
    shape = (-1, 1, 1) if values.dim() == 4 else (-1,)
    return torch.tensor(numbers, dtype=torch.float32, device=values.device).reshape(shape)
