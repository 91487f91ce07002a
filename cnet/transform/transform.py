"""The base class of transforms, and their registry."""

from __future__ import annotations

from abc import abstractmethod

from cnet.parts.registry import Part, Registry
from cnet.weights import Weights


class Transform(Part):
    """Gives a model another form, in which it is then trained, pruned, quantized and encoded.

    ``cnet.products.expanded`` undoes the form when a bundle is decoded, so that the bundle gives every tensor under its
    own name, with its own shape and element type.
    """

    @abstractmethod
    def transformed(self, weights: Weights) -> Weights:
        """The model in its new form. The same weights give the same result on one kind of machine."""


TRANSFORMS: Registry[Transform] = Registry("transform", "cnet.transform")
