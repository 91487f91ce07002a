"""Modules of the built-in architectures, built from the same description that lists their tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import Tensor, nn
from torch.nn import functional

from cnet.data import Dataset
from cnet.models import Architecture
from cnet.models.layers import (
    BatchNorm,
    Chain,
    Conv,
    Flatten,
    GlobalMean,
    Identity,
    Layer,
    Linear,
    MaxPool,
    ReLU,
    Residual,
    Shape,
)
from cnet.models.match import check_match, output_count
from cnet.models.module_architecture import ModuleArchitecture
from cnet.training.networks.builder import NetworkInput


@dataclass(frozen=True)
class ArchitectureBuilder:
    """Builds a built-in architecture for images of one shape; a ``NetworkBuilder``.

    Attributes:
        architecture: the network.
        input_shape: channels, height, width of one image.
        classes: number of classes of the data set. A network that is loaded may have more outputs, not fewer.

    """

    architecture: Architecture
    input_shape: tuple[int, int, int]
    classes: int

    @classmethod
    def for_dataset(cls, architecture: Architecture, dataset: Dataset) -> ArchitectureBuilder:
        """The builder of an architecture for the images and classes of a data set."""
        return cls(architecture, dataset.input_shape, dataset.classes)

    @property
    def name(self) -> str:
        """Name of the architecture."""
        return self.architecture.name

    @property
    def identity(self) -> str:
        """JSON of the architecture's parameters. Image shape and classes follow from the data, which count too."""
        return self.architecture.model_dump_json()

    @property
    def inputs(self) -> tuple[NetworkInput, ...]:
        """One image."""
        return (NetworkInput("images", self.input_shape),)

    @property
    def fixed_batch(self) -> None:
        """None: any size of batch will do."""
        return

    @property
    def output_shape(self) -> tuple[int | None, ...]:
        """Logits; a network that is loaded may have more of them than the data set has classes."""
        return (None, None)

    def build(self, shapes: Mapping[str, Shape] | None = None) -> nn.Module:
        """As ``NetworkBuilder.build``; of the shapes, only the number of outputs decides the network's size."""
        outputs = self.classes
        if shapes is not None:
            check_match(self.architecture, self.input_shape, self.classes, shapes)
            outputs = output_count(self.architecture, self.input_shape, shapes) or self.classes
        if isinstance(self.architecture, ModuleArchitecture):
            return self._made(self.architecture, outputs, 0)
        with torch.device("meta"):  # no memory is written, and no initial value computed
            module = build_layer(self.architecture.layers(self.input_shape, outputs), self.input_shape)
        # As module.to_empty(device="cpu"), which imports half of PyTorch's compiler.
        module._apply(lambda tensor: torch.empty(tensor.shape, dtype=tensor.dtype))  # type: ignore[no-untyped-call]
        for child in module.modules():
            if isinstance(child, nn.BatchNorm2d):
                child.reset_running_stats()
        return module

    def initialize(self, module: nn.Module, seed: int) -> None:
        """Normal convolution and linear weights with He's variance 2/fan_in, zero biases, batch-norm scales of one.

        A module of a ``ModuleArchitecture`` gets the values that it is made with.
        """
        if isinstance(self.architecture, ModuleArchitecture):
            module.load_state_dict(self._made(self.architecture, self.classes, seed).state_dict())
            return
        generator = torch.Generator().manual_seed(seed)
        for child in module.modules():
            if isinstance(child, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(child.weight, nonlinearity="relu", generator=generator)
                if child.bias is not None:
                    nn.init.zeros_(child.bias)
            elif isinstance(child, nn.BatchNorm2d):
                child.reset_parameters()

    def _made(self, architecture: ModuleArchitecture, outputs: int, seed: int) -> nn.Module:
        """The module of an architecture that makes one itself."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return architecture.module(self.input_shape, outputs).float()


@singledispatch
def build_layer(layer: Layer, shape: Shape) -> nn.Module:
    """The module of one layer for inputs of ``shape`` (without batch); one function is registered a kind of layer."""
    raise TypeError(
        f"layer {type(layer).__name__}: no module is registered for it, inputs {shape}. Register one with build_layer."
    )


@build_layer.register
def _conv(layer: Conv, shape: Shape) -> nn.Module:
    return nn.Conv2d(
        shape[0], layer.channels, layer.kernel, stride=layer.stride, padding=layer.padding, bias=layer.bias
    )


@build_layer.register
def _linear(layer: Linear, shape: Shape) -> nn.Module:
    return nn.Linear(shape[0], layer.features, bias=layer.bias)


@build_layer.register
def _batch_norm(layer: BatchNorm, shape: Shape) -> nn.Module:  # noqa: ARG001 - its type selects it
    return _SafeBatchNorm(shape[0])


@build_layer.register
def _relu(layer: ReLU, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.ReLU(inplace=True)


@build_layer.register
def _identity(layer: Identity, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.Identity()


@build_layer.register
def _max_pool(layer: MaxPool, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.MaxPool2d(layer.size)


@build_layer.register
def _global_mean(layer: GlobalMean, shape: Shape) -> nn.Module:  # noqa: ARG001
    return _GlobalMean()


@build_layer.register
def _flatten(layer: Flatten, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.Flatten()


@build_layer.register
def _chain(layer: Chain, shape: Shape) -> nn.Module:
    return _fill(nn.Sequential(), layer, shape)


@build_layer.register
def _residual(layer: Residual, shape: Shape) -> nn.Module:
    return _fill(_Residual(), layer.body, shape)


def _fill(sequence: nn.Sequential, chain: Chain, shape: Shape) -> nn.Sequential:
    for name, child, before in chain.walk(shape):
        sequence.add_module(name, build_layer(child, before))
    return sequence


class _GlobalMean(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.mean((2, 3))


class _Residual(nn.Sequential):
    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = super().forward(images)  # type: ignore[no-untyped-call]
        return functional.relu(outputs.add_(_shortcut(images, outputs)), inplace=True)


def _shortcut(images: Tensor, like: Tensor) -> Tensor:
    """``images``, subsampled and zero-padded in channels to the shape of ``like``: (batch, channels, rows, columns)."""
    stride = -(-images.shape[-1] // like.shape[-1])
    subsampled = images[:, :, ::stride, ::stride] if stride > 1 else images
    extra = like.shape[1] - images.shape[1]
    return functional.pad(subsampled, (0, 0, 0, 0, extra // 2, extra - extra // 2)) if extra else subsampled


class _SafeBatchNorm(nn.BatchNorm2d):
    """Batch norm that uses its running statistics where a channel has a single value, which has no variance."""

    def forward(self, images: Tensor) -> Tensor:
        if self.training and images.numel() == images.shape[1]:
            return functional.batch_norm(
                images, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        normalized: Tensor = super().forward(images)
        return normalized
