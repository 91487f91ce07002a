"""What a transform is."""

from __future__ import annotations

from abc import abstractmethod

from cnet.registry import Part, Registry
from cnet.weights import Weights


class Transform(Part):
    """Writes a net in another form, in which it is then trained, pruned, quantized and encoded.

    ``cnet.products.expanded`` undoes the form: a bundle gives every tensor under its own name, shape and type.
    """

    @abstractmethod
    def transformed(self, weights: Weights) -> Weights:
        """The net in its new form. The same weights give the same result on one kind of machine."""


TRANSFORMS: Registry[Transform] = Registry("transform", "cnet.transform")
