"""What an architecture is: a description in plain Python, from which both tensor shapes and the module follow.

The description needs no torch, so that the front end can hold a checkpoint against it at submit time;
``cnet.training.assemble`` turns the same description into a module.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from cnet.registry import Part, Registry
from cnet.training.layers import Layer


@dataclass(frozen=True)
class TensorShape:
    """One tensor of an architecture. ``optional`` ones (num_batches_tracked) a checkpoint may leave out."""

    name: str
    shape: tuple[int, ...]
    optional: bool = False


class Architecture(Part):
    """A network for images of one shape and a number of classes."""

    @abstractmethod
    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """The network as a tree of layers.

        Args:
            input_shape: channels, height, width of one image.
            classes: number of outputs.

        Raises:
            SpecError: the images are too small for the net.
        """


ARCHITECTURES: Registry[Architecture] = Registry("architecture", "cnet.training.architectures")
