"""From an architecture's description to a torch module whose tensors have the names that the description lists."""

from __future__ import annotations

from functools import singledispatch

import torch
from torch import Tensor, nn
from torch.nn import functional

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


def assemble(layer: Layer, input_shape: Shape, seed: int) -> nn.Module:
    """The module for images of ``input_shape``, float32, on the CPU, with fresh random weights.

    Convolution and linear weights are normal with He's variance 2/fan_in, biases zero, batch-norm scales one. The
    same seed gives the same weights; torch's global generator is neither read nor moved.
    """
    with torch.device("meta"):
        module = build(layer, input_shape)
    module.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    for child in module.modules():
        _initialise(child, generator)
    return module


@singledispatch
def build(layer: Layer, shape: Shape) -> nn.Module:
    """The module of one layer for inputs of ``shape``; one registered function a kind of layer."""
    raise TypeError(f"no module is known for {type(layer).__name__}, shape {shape}")


@build.register
def _conv(layer: Conv, shape: Shape) -> nn.Module:
    return nn.Conv2d(
        shape[0], layer.channels, layer.kernel, stride=layer.stride, padding=layer.padding, bias=layer.bias
    )


@build.register
def _linear(layer: Linear, shape: Shape) -> nn.Module:
    return nn.Linear(shape[0], layer.features, bias=layer.bias)


@build.register
def _batch_norm(layer: BatchNorm, shape: Shape) -> nn.Module:  # noqa: ARG001 - the kind of layer is what selects it
    return _SafeBatchNorm(shape[0])


@build.register
def _relu(layer: ReLU, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.ReLU(inplace=True)


@build.register
def _identity(layer: Identity, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.Identity()


@build.register
def _max_pool(layer: MaxPool, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.MaxPool2d(layer.size)


@build.register
def _global_mean(layer: GlobalMean, shape: Shape) -> nn.Module:  # noqa: ARG001
    return _GlobalMean()


@build.register
def _flatten(layer: Flatten, shape: Shape) -> nn.Module:  # noqa: ARG001
    return nn.Flatten()


@build.register
def _chain(layer: Chain, shape: Shape) -> nn.Module:
    return _fill(nn.Sequential(), layer, shape)


@build.register
def _residual(layer: Residual, shape: Shape) -> nn.Module:
    return _fill(_Residual(), layer.body, shape)


def _fill(sequence: nn.Sequential, chain: Chain, shape: Shape) -> nn.Sequential:
    for name, child, before in chain.walk(shape):
        sequence.add_module(name, build(child, before))
    return sequence


class _GlobalMean(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.mean((2, 3))


class _Residual(nn.Sequential):
    def forward(self, images: Tensor) -> Tensor:
        new: Tensor = super().forward(images)  # type: ignore[no-untyped-call]
        return functional.relu(new.add_(_shortcut(images, new)), inplace=True)


def _shortcut(images: Tensor, like: Tensor) -> Tensor:
    """``images`` subsampled and zero-padded in channels to the shape of ``like``."""
    stride = -(-images.shape[-1] // like.shape[-1])
    kept = images[:, :, ::stride, ::stride] if stride > 1 else images
    extra = like.shape[1] - images.shape[1]
    return functional.pad(kept, (0, 0, 0, 0, extra // 2, extra - extra // 2)) if extra else kept


class _SafeBatchNorm(nn.BatchNorm2d):
    """Batch norm that survives a single value a channel: it has no variance, so running statistics stand in."""

    def forward(self, images: Tensor) -> Tensor:
        if self.training and images.numel() == images.shape[1]:
            return functional.batch_norm(
                images, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        normalised: Tensor = super().forward(images)
        return normalised


def _initialise(module: nn.Module, generator: torch.Generator) -> None:
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.BatchNorm2d):
        module.reset_parameters()
