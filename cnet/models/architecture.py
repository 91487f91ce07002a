"""What an architecture is, and the registry of all architectures.

An architecture is a description in plain Python. Its tensors are known without torch, so that the API can compare a
checkpoint with it when a job is submitted; ``cnet.training.networks`` builds the PyTorch module from it.
"""

from __future__ import annotations

from abc import abstractmethod

from cnet.models.layers import Layer, TensorShape
from cnet.parts.registry import Part, Registry

__all__ = ["ARCHITECTURES", "Architecture", "TensorShape"]


class Architecture(Part):
    """A family of networks: one for each shape of images and number of classes."""

    name: str

    @abstractmethod
    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """The network, as a tree of layers.

        Args:
            input_shape: channels, height and width of an image.
            classes: number of outputs.

        Raises:
            SpecError: the images are too small for the network.

        """

    def tensors(self, input_shape: tuple[int, int, int], classes: int) -> tuple[TensorShape, ...]:
        """All tensors of the network, with the names and in the order of PyTorch's ``state_dict``.

        Raises:
            SpecError: the images are too small for the network.

        """
        return tuple(self.layers(input_shape, classes).tensors(input_shape))


ARCHITECTURES: Registry[Architecture] = Registry("architecture", "cnet.models")
"""All architectures by name."""
