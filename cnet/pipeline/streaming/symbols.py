"""The symbols of a net that is not in memory, made anew each time that they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import take_masked
from cnet.pipeline.streaming.vector import Float32, StreamedVector
from cnet.prune import Pruner, Threshold, magnitude_bits
from cnet.quantize import FittedCodebook, Quantizer
from cnet.symbols import Symbols


@dataclass(frozen=True, eq=False)
class Kept:
    """What pruning leaves of a net.

    Attributes:
        vector: the net.
        threshold: what is kept.
        negative_zeros: whether these are kept too, as the quantizer ``none`` does.
    """

    vector: StreamedVector
    threshold: Threshold
    negative_zeros: bool = False

    @classmethod
    def of(cls, vector: StreamedVector, pruner: Pruner, sparsity: float, *, negative_zeros: bool = False) -> Kept:
        """The weights that ``pruner`` keeps. Raises SpecError where it needs all of them at once."""
        dropped = round(sparsity * len(vector))
        threshold = pruner.threshold(lambda: map(magnitude_bits, vector.parts(vector.cuts())), dropped)
        return cls(vector, threshold, negative_zeros)

    def parts(self, cuts: Iterable[slice]) -> Iterator[tuple[npt.NDArray[np.bool_], Float32]]:
        """Mask and kept values of slices that follow each other from the start of w_net."""
        read: list[Float32] = []

        def magnitudes() -> Iterator[npt.NDArray[np.uint32]]:
            for part in self.vector.parts(cuts):
                read.append(part)
                yield magnitude_bits(part)

        for keep in self.threshold.masks(magnitudes()):
            part = read.pop()
            if self.negative_zeros:
                keep |= (part == 0) & np.signbit(part)
            yield keep, take_masked(part, keep)

    def values(self) -> Iterator[Float32]:
        """All kept values."""
        return (values for _, values in self.parts(self.vector.cuts()) if len(values))


@dataclass(frozen=True, eq=False)
class StreamedSymbols:
    """The symbols of a pruned net, as ``cnet.symbols.SymbolParts`` has it.

    Attributes:
        kept: the pruned net.
        codebook: its codebook.
        clusters: number of centroids, or None where values are kept as they are.
    """

    kept: Kept
    codebook: FittedCodebook
    clusters: int | None

    @classmethod
    def of(cls, kept: Kept, quantizer: Quantizer, clusters: int | None) -> StreamedSymbols:
        """The same symbols that ``quantizer`` makes of a net in memory.

        Raises:
            SpecError: the quantizer needs all values at once.
            CheckpointError: as the quantizer.
        """
        codebook = quantizer.fit_chunks(kept.values, clusters)
        none = codebook.assign_labels(np.empty(0, np.float32)) is None
        return cls(kept, codebook, None if none else len(codebook.centroids))

    @property
    def weights(self) -> int:
        """Length of w_net."""
        return len(self.kept.vector)

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """All centroids."""
        return self.codebook.centroids

    @property
    def local(self) -> None:
        """Places do nothing to centroids."""

    def parts(self, cuts: Iterable[slice]) -> Iterator[Symbols]:
        """The symbols of slices that follow each other from the start of w_net."""
        for keep, values in self.kept.parts(cuts):
            labels = self.codebook.assign_labels(values)
            yield Symbols(keep, labels, values if labels is None else self.codebook.centroids)
