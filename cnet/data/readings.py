"""How the samples of a data set become the samples that a program takes.

Data sets are stored as images wherever an array may be images: a file's (n, h, w) as (n, 1, h, w), and (n, h, w, c) as
(n, c, h, w). A program says which axes it takes. Where it takes those of the file and not those of images, such as a
series of the shape (n, channels, steps), the samples are given to it with the axes of the file; where it takes rows of
numbers, as rows. Values are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import Dataset, Split
from cnet.data.dataset_facts import DatasetFacts
from cnet.data.dataset_format import Layout

Shape = tuple[int, ...]
Taken = Sequence[int | str | None]
"""Shape of a sample that a program takes; a size that is no number is any."""

_IMAGE_AXES = 3


class Reading(Enum):
    """What becomes of the axes of a sample."""

    AS_STORED = "as it is stored"
    WITHOUT_CHANNEL = "without the axis of channels"
    CHANNELS_LAST = "with the channels as its last axis"
    FLAT = "as one row"

    @classmethod
    def of_layout(cls, layout: Layout | None) -> Reading:
        """The reading with the axes that an array of an npz file has, by where its channels are."""
        if layout is None:
            return cls.WITHOUT_CHANNEL
        return cls.CHANNELS_LAST if layout == "channels_last" else cls.AS_STORED

    def shape(self, stored: Shape) -> Shape:
        """The shape of a sample."""
        if self is Reading.AS_STORED:
            return stored
        if self is Reading.FLAT:
            return (math.prod(stored),)
        return stored[1:] if self is Reading.WITHOUT_CHANNEL else (*stored[1:], stored[0])

    def array(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The samples, shape (n, ...), in C order."""
        if self is Reading.AS_STORED:
            return stored
        if self is Reading.FLAT:
            return stored.reshape(len(stored), -1)
        return stored[:, 0] if self is Reading.WITHOUT_CHANNEL else np.ascontiguousarray(np.moveaxis(stored, 1, -1))


def possible_readings(stored: Shape) -> list[Reading]:
    """The readings of samples that are stored in a shape, the stored one first."""
    if len(stored) != _IMAGE_AXES:
        return [Reading.AS_STORED]
    without = [Reading.WITHOUT_CHANNEL] if stored[0] == 1 else []
    return [Reading.AS_STORED, *without, Reading.CHANNELS_LAST, Reading.FLAT]


def choose_readings(stored: Mapping[str, Shape], taken: Sequence[Taken]) -> dict[str, Reading]:
    """The reading of each input that a program takes; as it is stored where none fits, or their numbers differ.

    Args:
        stored: shape of a sample of each input, by name.
        taken: shape of a sample of each input of the program, in the same order.
    """
    if len(stored) != len(taken):
        return dict.fromkeys(stored, Reading.AS_STORED)
    found = {}
    for (name, shape), wanted in zip(stored.items(), taken, strict=True):
        fitting = (each for each in possible_readings(shape) if _fits(each.shape(shape), wanted))
        found[name] = next(fitting, Reading.AS_STORED)
    return found


def dataset_read(dataset: Dataset, readings: Mapping[str, Reading]) -> Dataset:
    """The data set with another reading of its inputs, by name."""

    def read(split: Split) -> Split:
        return replace(split, inputs={name: readings[name].array(values) for name, values in split.inputs.items()})

    validation = None if dataset.validation is None else read(dataset.validation)
    return Dataset(read(dataset.train), read(dataset.test), validation)


def dataset_for(dataset: Dataset, taken: Sequence[Taken], log: Callable[[str], None]) -> Dataset:
    """The data set as a program takes it.

    Args:
        dataset: as it is stored.
        taken: shape of a sample of each input of the program.
        log: told where the samples are given with other axes than those of images.
    """
    shapes = dataset.input_shapes
    readings = choose_readings(shapes, taken)
    changed = {name: reading for name, reading in readings.items() if reading is not Reading.AS_STORED}
    for name, reading in changed.items():
        log(
            f"data set: the samples of {name} have the shape {reading.shape(shapes[name])}, as the program takes them, "
            f"not {shapes[name]}, as images are read"
        )
    return dataset_read(dataset, readings) if changed else dataset


def facts_for(facts: DatasetFacts, taken: Sequence[Taken]) -> DatasetFacts:
    """What is known of a data set as ``dataset_for`` gives it to a program."""
    readings = choose_readings({name: shape for name, (shape, _) in facts.inputs.items()}, taken)
    inputs = {name: (readings[name].shape(shape), dtype) for name, (shape, dtype) in facts.inputs.items()}
    return replace(facts, inputs=inputs)


def _fits(shape: Shape, taken: Taken) -> bool:
    return len(shape) == len(taken) and all(
        size == wanted or not isinstance(wanted, int) for size, wanted in zip(shape, taken, strict=True)
    )
