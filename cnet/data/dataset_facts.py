"""What is known of a data set without its arrays: enough to tell whether a network can be trained with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from cnet.data.dataset import DATASETS, DEFAULT_INPUT
from cnet.data.dataset_manifest import DatasetManifest
from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError


@dataclass(frozen=True)
class DatasetFacts:
    """What is checked of a data set before a network is trained or measured on it.

    Attributes:
        inputs: shape of one sample and element type of each input, by name.
        classes: number of classes; None where the targets are no labels.
        targets: shape of one sample's target and element type; None where there are none.
        samples: number of samples of each split; empty where it is not known.
        ranges: smallest and largest value of inputs of integers, by name; left out where they are not known.
        label_counts: how many different labels each split has; empty where it is not known.
        target_limits: the smallest and the largest target where they are no labels; None where they are not known.
        id: of the data set on a server; None where it is built in or a file.
    """

    inputs: Mapping[str, tuple[tuple[int, ...], str]]
    classes: int | None
    targets: tuple[tuple[int, ...], str] | None = ((), "int64")
    samples: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    label_counts: Mapping[str, int] = field(default_factory=dict)
    target_limits: tuple[float, float] | None = None
    id: str | None = None

    @classmethod
    def of_builtin(cls, name: str) -> Self:
        """The facts of a built-in data set."""
        builtin = DATASETS.get(name)
        inputs = {DEFAULT_INPUT: (builtin.input_shape, "uint8")}
        return cls(inputs, builtin.classes, samples=builtin.samples)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """The facts of a file, which is read for them. Raises DatasetError, CheckpointError where it cannot be used."""
        return cls.of_manifest(DatasetManifest.of(read_dataset_file(path)).model_dump())

    @classmethod
    def of_manifest(cls, document: Mapping[str, Any]) -> Self:
        """The facts in the manifest of a data set (``cnet.data.dataset_manifest``) as JSON, which the API shows too."""
        inputs = {row["name"]: (tuple(row["shape"]), row["dtype"]) for row in document["inputs"]}
        targets = document["targets"]
        about_targets = None if targets is None else (tuple(targets["shape"]), targets["dtype"])
        ranges = {row["name"]: tuple(row["range"]) for row in document["inputs"] if row.get("range") is not None}
        different = {} if targets is None else targets.get("different", {})
        limits = None if targets is None or targets.get("range") is None else tuple(targets["range"])
        return cls(inputs, document["classes"], about_targets, document["splits"], ranges, different, limits)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape of an image. Raises DatasetError where the data set has no images that an architecture takes."""
        shapes = [shape for shape, _ in self.inputs.values()]
        dtypes = [dtype for _, dtype in self.inputs.values()]
        if len(shapes) != 1 or len(shapes[0]) != 3 or dtypes[0] not in ("uint8", "float32"):
            raise DatasetError(
                f"data set: its inputs are {self._listed_inputs()}, and a built-in architecture takes one input of "
                "(channels, height, width), uint8 or float32. Use a data set of images.",
                code="wrong_input_shape",
            )
        channels, height, width = shapes[0]
        return channels, height, width

    @property
    def images(self) -> tuple[tuple[int, int, int], int]:
        """Shape of an image and number of classes. Raises DatasetError where the data set is not labelled images."""
        shape = self.image_shape
        if self.classes is None or self.targets is None or self.targets[0]:
            shown = (
                "missing" if self.targets is None else f"{self.targets[1]} of shape {self.targets[0]} for each sample"
            )
            raise DatasetError(
                f"data set: its targets are {shown}, and a built-in architecture learns one integer label for each "
                "sample. Give labels that count from 0.",
                code="bad_labels",
            )
        return shape, self.classes

    def _listed_inputs(self) -> str:
        """The inputs as a message shows them, such as ``x: float32 (4)``."""
        rows = self.inputs.items()
        return ", ".join(f"{name}: {dtype} ({', '.join(map(str, shape))})" for name, (shape, dtype) in rows)
