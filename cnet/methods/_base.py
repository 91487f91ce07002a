"""What a training method is: its parameters and what can be said of it without PyTorch."""

from __future__ import annotations

from cnet.methods.hooks import MethodHooks
from cnet.parts.registry import Part, Registry
from cnet.weights import Weights


class Method(Part):
    """What fine-tuning adds to the task loss. The base adds nothing."""

    def hooks(self) -> MethodHooks:
        """What the method does in a training step, with the parameters of this instance.

        The training asks for the hooks once; asking may import PyTorch. A built-in method imports its class of hooks
        from its file in ``cnet.methods.losses`` here and nowhere else. A plug-in may define that class beside its
        method: ``MethodHooks`` needs no PyTorch, and where tensor methods do not suffice a hook imports torch itself.
        """
        return MethodHooks(self)

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - the base has none
        """The strength λ in an epoch, counted from 0; None where the method has no single one. For the log."""
        return None

    @property
    def needs_data(self) -> str | None:
        """As in ``cnet.parts.capabilities.NeedsData``; None: a job without a data set uses ``without_data``."""
        return "a method trains the model. Leave it out, name a dataset, or take cnet with a lambda and no decay."

    def without_data(self, weights: Weights) -> Weights:
        """The weights that a job without a data set goes on to prune; the base returns ``weights``."""
        return weights


METHODS: Registry[Method] = Registry("method", "cnet.methods")
