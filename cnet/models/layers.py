"""Layers as plain data, of which architectures are made. No torch here.

A layer computes its output shape and its tensors from an input shape, so that a checkpoint can be compared with an
architecture where torch is not installed. Names and shapes of the tensors are those of the PyTorch module that
``cnet.training.networks`` builds from the same description. Shapes are those of one image, without the batch:
(channels, height, width), or (features,) after ``Flatten`` and ``GlobalMean``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from cnet.errors import SpecError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class TensorShape:
    """Name and shape of a tensor. Checkpoints may lack those that are ``optional`` (num_batches_tracked)."""

    name: str
    shape: Shape
    optional: bool = False


class Layer(ABC):
    """Base of all layers. A layer without tensors overrides only ``output``."""

    @abstractmethod
    def output(self, shape: Shape) -> Shape:
        """The output shape for an input of ``shape``. Raises SpecError where the input is too small."""

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """The tensors for an input of ``shape``, in the order of PyTorch, with names relative to the layer."""
        del shape
        return iter(())


@dataclass(frozen=True)
class Conv(Layer):
    """2-D convolution with square kernels. The number of input channels is that of the input."""

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True

    def output(self, shape: Shape) -> Shape:
        """(channels, height, width), each side floor((side + 2 padding - kernel) / stride) + 1."""
        return (self.channels, *_slide(shape, self.kernel, self.stride, self.padding))

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """``weight`` (out, in, kernel, kernel) and, where ``bias`` is set, ``bias`` (out,)."""
        yield TensorShape("weight", (self.channels, shape[0], self.kernel, self.kernel))
        if self.bias:
            yield TensorShape("bias", (self.channels,))


@dataclass(frozen=True)
class Linear(Layer):
    """Fully connected layer from (features,) to (features,)."""

    features: int
    bias: bool = True

    def output(self, shape: Shape) -> Shape:  # noqa: ARG002 - any number of inputs gives the same outputs
        """(features,)."""
        return (self.features,)

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """``weight`` (out, in) and, where ``bias`` is set, ``bias`` (out,)."""
        yield TensorShape("weight", (self.features, shape[0]))
        if self.bias:
            yield TensorShape("bias", (self.features,))


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Batch normalization over the channels of (channels, height, width)."""

    def output(self, shape: Shape) -> Shape:
        """The same shape."""
        return shape

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """Scale, shift, running mean and variance, each (channels,), and the number of batches that PyTorch counts."""
        for name in ("weight", "bias", "running_mean", "running_var"):
            yield TensorShape(name, (shape[0],))
        yield TensorShape("num_batches_tracked", (), optional=True)


@dataclass(frozen=True)
class ReLU(Layer):
    """max(x, 0)."""

    def output(self, shape: Shape) -> Shape:
        """The same shape."""
        return shape


@dataclass(frozen=True)
class Identity(Layer):
    """No operation. It takes a position in a chain, so that the layers after it keep their numbers."""

    def output(self, shape: Shape) -> Shape:
        """The same shape."""
        return shape


@dataclass(frozen=True)
class MaxPool(Layer):
    """Maximum over windows of ``size`` x ``size`` that do not overlap; an odd last row or column is dropped."""

    size: int = 2

    def output(self, shape: Shape) -> Shape:
        """(channels, height // size, width // size)."""
        return (shape[0], *_slide(shape, self.size, self.size, 0))


@dataclass(frozen=True)
class GlobalMean(Layer):
    """Mean over height and width."""

    def output(self, shape: Shape) -> Shape:
        """(channels,)."""
        return (shape[0],)


@dataclass(frozen=True)
class Flatten(Layer):
    """All values of an image as one vector, in C order."""

    def output(self, shape: Shape) -> Shape:
        """(channels * height * width,)."""
        size = 1
        for side in shape:
            size *= side
        return (size,)


@dataclass(frozen=True)
class Chain(Layer):
    """Layers, each of which takes the output of the one before. The name of a child is the prefix of its tensors."""

    children: tuple[tuple[str, Layer], ...]

    @classmethod
    def of(cls, *layers: Layer) -> Chain:
        """A chain whose children are named by their position: 0, 1, 2, ..."""
        return cls(tuple((str(index), layer) for index, layer in enumerate(layers)))

    @classmethod
    def named(cls, **layers: Layer) -> Chain:
        """A chain whose children are named by the keywords, in the order given."""
        return cls(tuple(layers.items()))

    def output(self, shape: Shape) -> Shape:
        """The output shape of the last child."""
        for _, child, before in self.walk(shape):
            shape = child.output(before)
        return shape

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """The tensors of all children, in order."""
        for name, child, before in self.walk(shape):
            for tensor in child.tensors(before):
                yield TensorShape(f"{name}.{tensor.name}", tensor.shape, tensor.optional)

    def walk(self, shape: Shape) -> Iterator[tuple[str, Layer, Shape]]:
        """Name, layer and input shape of each child."""
        for name, child in self.children:
            yield name, child, shape
            shape = child.output(shape)


@dataclass(frozen=True)
class Residual(Layer):
    """relu(body(x) + shortcut(x)), with a shortcut that has no parameters (option A of He et al. 2016).

    Where the body halves the image, the shortcut takes every second row and column. Where the body adds channels, the
    shortcut adds channels of zeros, half of them before and half of them after its own. The children of the body have
    the names that they would have as children of this layer.
    """

    body: Chain

    def output(self, shape: Shape) -> Shape:
        """The output shape of the body."""
        return self.body.output(shape)

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """The tensors of the body."""
        return self.body.tensors(shape)


def require_size(architecture: str, input_shape: tuple[int, int, int], minimum: int) -> None:
    """Raise SpecError where an image is lower or narrower than ``minimum`` pixels."""
    _, height, width = input_shape
    if min(height, width) < minimum:
        raise SpecError(
            f"architecture {architecture!r}: images of {height}x{width} are too small for it. "
            f"Use images of {minimum}x{minimum} or larger."
        )


def _slide(shape: Shape, kernel: int, stride: int, padding: int) -> Shape:
    sides = tuple((side + 2 * padding - kernel) // stride + 1 for side in shape[1:])
    if min(sides) < 1:
        raise SpecError(
            f"the images are too small for the network: a window of {kernel}x{kernel} is applied to "
            f"{shape[1]}x{shape[2]} values. Use larger images."
        )
    return sides
