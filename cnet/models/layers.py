"""Layers as plain data: the vocabulary in which architectures are written. No torch here.

A layer knows its output shape and its tensors for a given input shape, so that a checkpoint can be held against an
architecture where torch is not installed. Names and shapes of the tensors are those that PyTorch gives to the
module which ``cnet.training.networks`` builds from the same description. Shapes are of one image, without the
batch: (channels, height, width), or (features,) after ``Flatten`` and ``GlobalMean``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from cnet.errors import SpecError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class TensorShape:
    """One tensor of an architecture. ``optional`` ones (num_batches_tracked) a checkpoint may leave out."""

    name: str
    shape: Shape
    optional: bool = False


class Layer(ABC):
    """Base of all layers. A layer without tensors that keeps the shape overrides nothing but its own name."""

    @abstractmethod
    def output(self, shape: Shape) -> Shape:
        """Shape of the output for an input of ``shape``. Raises SpecError where the input is too small."""

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """Its tensors for an input of ``shape``, in PyTorch's order, with names relative to the layer."""
        del shape
        return iter(())


@dataclass(frozen=True)
class Conv(Layer):
    """2-D convolution with square kernels; input channels follow from the input."""

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True

    def output(self, shape: Shape) -> Shape:
        """(channels, height, width), each side floor((side + 2 padding - kernel) / stride) + 1."""
        return (self.channels, *_slide(shape, self.kernel, self.stride, self.padding))

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """``weight`` (out, in, kernel, kernel) and, unless left out, ``bias`` (out,)."""
        yield TensorShape("weight", (self.channels, shape[0], self.kernel, self.kernel))
        if self.bias:
            yield TensorShape("bias", (self.channels,))


@dataclass(frozen=True)
class Linear(Layer):
    """Fully connected layer on (features,)."""

    features: int
    bias: bool = True

    def output(self, shape: Shape) -> Shape:  # noqa: ARG002 - any number of inputs gives the same outputs
        """(features,)."""
        return (self.features,)

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """``weight`` (out, in) and, unless left out, ``bias`` (out,)."""
        yield TensorShape("weight", (self.features, shape[0]))
        if self.bias:
            yield TensorShape("bias", (self.features,))


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Batch normalisation over the channels of (channels, height, width)."""

    def output(self, shape: Shape) -> Shape:
        """The same shape."""
        return shape

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """Scale, shift and running statistics, each (channels,), and PyTorch's counter of batches."""
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
    """Nothing at all; holds a place, so that the numbers of its neighbours do not move."""

    def output(self, shape: Shape) -> Shape:
        """The same shape."""
        return shape


@dataclass(frozen=True)
class MaxPool(Layer):
    """Maximum over windows of ``size`` x ``size`` that do not overlap; an odd last row or column drops out."""

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
    """All values of an image in one row, in C order."""

    def output(self, shape: Shape) -> Shape:
        """(channels * height * width,)."""
        size = 1
        for side in shape:
            size *= side
        return (size,)


@dataclass(frozen=True)
class Chain(Layer):
    """Layers one after the other. The name of a child is the prefix of its tensors."""

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
        """Output of the last child."""
        for _, child, before in self.walk(shape):
            shape = child.output(before)
        return shape

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """The tensors of all children, in order."""
        for name, child, before in self.walk(shape):
            for tensor in child.tensors(before):
                yield TensorShape(f"{name}.{tensor.name}", tensor.shape, tensor.optional)

    def walk(self, shape: Shape) -> Iterator[tuple[str, Layer, Shape]]:
        """Each child with its name and the shape of its input."""
        for name, child in self.children:
            yield name, child, shape
            shape = child.output(shape)


@dataclass(frozen=True)
class Residual(Layer):
    """relu(body(x) + shortcut(x)), with a shortcut that has no parameters (option A of He et al. 2016).

    Where the body halves the image, the shortcut takes every second row and column; where it has more channels, the
    new ones of the shortcut are zero, half of them before and half of them after the old ones. The body's children
    are named as if they were the block's own.
    """

    body: Chain

    def output(self, shape: Shape) -> Shape:
        """Output of the body."""
        return self.body.output(shape)

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """The body's tensors."""
        return self.body.tensors(shape)


def require_size(architecture: str, input_shape: tuple[int, int, int], minimum: int) -> None:
    """Raise SpecError where an image is lower or narrower than ``minimum`` pixels."""
    _, height, width = input_shape
    if min(height, width) < minimum:
        raise SpecError(
            f"images of {height}x{width} are too small for {architecture}: it needs {minimum}x{minimum} at least"
        )


def _slide(shape: Shape, kernel: int, stride: int, padding: int) -> Shape:
    sides = tuple((side + 2 * padding - kernel) // stride + 1 for side in shape[1:])
    if min(sides) < 1:
        raise SpecError(
            f"the image is too small for the net: a window of {kernel}x{kernel} meets {shape[1]}x{shape[2]}"
        )
    return sides
