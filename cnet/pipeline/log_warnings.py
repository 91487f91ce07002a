"""What a person should know about a run that did work: sentences for the log."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cnet.symbols import SymbolParts
from cnet.weights import Weights


def about_weights(weights: Weights) -> Iterator[str]:
    """Warnings about the net itself."""
    if not weights.compressible:
        yield (
            "warning: no tensor is compressible (floating point, two dimensions and more, or named by "
            "compressible.include): the bundle holds everything as it is"
        )


def about_pruning(weights: Weights, keep: npt.NDArray[np.bool_], requested: float) -> Iterator[str]:
    """Warnings about a mask.

    Args:
        weights: before pruning.
        keep: the mask, shape (n,).
        requested: the sparsity that was asked for.
    """
    zeros = len(keep) - int(np.count_nonzero(keep))
    if requested and zeros > round(requested * len(keep)):
        yield zeros_already(requested, zeros / len(keep))
    if requested < 1.0:
        for name, part in weights.slices():
            if not keep[part].any() and np.any(weights[name].values()):
                yield nothing_left(requested, name)


def zeros_already(requested: float, share: float) -> str:
    """The warning about a net that has more zeros than were asked for."""
    return (
        f"warning: sparsity {requested:g} was asked for, but {share:.4f} of the weights are zero already; none of "
        "them is brought back"
    )


def nothing_left(requested: float, name: str) -> str:
    """The warning about a tensor that is pruned away."""
    return (
        f"warning: at sparsity {requested:g} nothing is left of {name}: the net may give a constant output; exclude "
        "the tensor or ask for a lower sparsity"
    )


def about_clusters(symbols: SymbolParts, requested: int | None) -> Iterator[str]:
    """Warnings about a codebook; ``requested`` is the cluster count that was asked for."""
    if requested is not None and symbols.clusters is not None and symbols.clusters < requested:
        yield f"warning: {requested} clusters were asked for, but the weights left need only {symbols.clusters} of them"
