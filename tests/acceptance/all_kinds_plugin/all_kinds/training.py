"""A training method, two architectures, a task and a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from cnet.data import DATASETS, BuiltinDataset, Dataset
from cnet.methods import METHODS, Method, MethodHooks, StepContext
from cnet.models import ARCHITECTURES, Architecture, ModuleArchitecture
from cnet.models.layers import Chain, Flatten, Layer, Linear
from cnet.training.tasks import TASKS
from cnet.training.tasks.regression import Regression

if TYPE_CHECKING:
    import torch


@METHODS.register("fourth_powers")
class FourthPowers(Method):
    """Adds the sum of fourth powers of all weights to the loss."""

    summary: ClassVar[str] = "Penalty on the fourth powers of the weights."
    source: ClassVar[str] = "a test"
    name: Literal["fourth_powers"] = "fourth_powers"
    factor: float = Field(default=0.001, ge=0.0, description="Factor of the penalty.")

    def hooks(self) -> MethodHooks:
        """The penalty."""
        return _Hooks(self)


class _Hooks(MethodHooks):
    method: FourthPowers

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], context: StepContext) -> torch.Tensor | None:  # noqa: ARG002
        """A scalar; only methods of tensors are used, so that no import of PyTorch is needed."""
        return sum((weight**4).sum() for weight in weights.values()) * self.method.factor


@ARCHITECTURES.register("one_layer")
class OneLayer(Architecture):
    """One fully connected layer."""

    summary: ClassVar[str] = "One fully connected layer."
    source: ClassVar[str] = "a test"
    name: Literal["one_layer"] = "one_layer"

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:  # noqa: ARG002
        """The network."""
        return Chain.named(flatten=Flatten(), fc=Linear(classes))


@ARCHITECTURES.register("early_exit")
class EarlyExit(ModuleArchitecture):
    """A network that ``torch.export`` cannot follow: its ``forward`` looks at values."""

    summary: ClassVar[str] = "Two layers, the second for doubtful batches only."
    source: ClassVar[str] = "a test"
    name: Literal["early_exit"] = "early_exit"

    def module(self, input_shape: tuple[int, int, int], outputs: int) -> torch.nn.Module:
        """The network."""
        from all_kinds.networks import EarlyExitNetwork

        return EarlyExitNetwork(input_shape[0] * input_shape[1] * input_shape[2], outputs)


@TASKS.register("huber")
class Huber(Regression):
    """Regression whose loss grows linearly where errors are large."""

    summary: ClassVar[str] = "Real numbers, with Huber's loss."
    source: ClassVar[str] = "a test"
    name: Literal["huber"] = "huber"
    delta: float = Field(default=1.0, gt=0.0, description="Where the loss becomes linear.")

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Huber's loss."""
        from torch.nn import functional

        return functional.huber_loss(outputs, targets.reshape(outputs.shape), delta=self.delta)


@DATASETS.register("stripes")
class Stripes(BuiltinDataset):
    """Horizontal and vertical stripes of random brightness."""

    summary: ClassVar[str] = "Horizontal and vertical stripes, 4x4, two classes."
    source: ClassVar[str] = "a test"
    name: Literal["stripes"] = "stripes"
    input_shape: ClassVar[tuple[int, int, int]] = (1, 4, 4)
    classes: ClassVar[int] = 2

    def load(self) -> Dataset:
        """200 images to train on and 100 to test on."""
        random = np.random.default_rng(0)
        labels = np.arange(300) % 2
        images = random.integers(0, 60, (300, 1, 4, 4))
        images[labels == 0, :, 1, :] += 120
        images[labels == 1, :, :, 1] += 120
        pixels = images.astype(np.uint8)
        return Dataset.of_arrays(pixels[:200], labels[:200], pixels[200:], labels[200:])
