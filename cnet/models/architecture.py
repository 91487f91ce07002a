"""What an architecture is: a description in plain Python, from which both tensor shapes and the module follow.

The description needs no torch, so that the front end can hold a checkpoint against it at submit time;
``cnet.training.networks`` turns the same description into a module.
"""

from __future__ import annotations

from abc import abstractmethod

from cnet.models.layers import Layer, TensorShape
from cnet.registry import Part, Registry

__all__ = ["ARCHITECTURES", "Architecture", "TensorShape"]


class Architecture(Part):
    """A network for images of one shape and a number of classes."""

    name: str

    @abstractmethod
    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """The network as a tree of layers.

        Args:
            input_shape: channels, height, width of one image.
            classes: number of outputs.

        Raises:
            SpecError: the images are too small for the net.

        """

    def tensors(self, input_shape: tuple[int, int, int], classes: int) -> tuple[TensorShape, ...]:
        """All tensors of the network, with the names and in the order of PyTorch's ``state_dict``.

        Raises:
            SpecError: the images are too small for the net.

        """
        return tuple(self.layers(input_shape, classes).tensors(input_shape))


ARCHITECTURES: Registry[Architecture] = Registry("architecture", "cnet.models")
