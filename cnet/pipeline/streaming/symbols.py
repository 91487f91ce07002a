"""The mask and the symbols of a network that is not in memory, computed anew each time that they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import take_masked
from cnet.equal_tensors import EqualTensor, find_equal_tensors
from cnet.pipeline.streaming.vector import Float32, StreamedVector
from cnet.prune import Pruner, Threshold, magnitude_bits
from cnet.quantize import FittedCodebook, Quantizer
from cnet.symbols import Symbols
from cnet.weights import Weights


@dataclass(frozen=True, eq=False)
class StreamedPruning:
    """What pruning leaves of a network.

    Attributes:
        vector: the network's weights.
        threshold: which of them are kept.
        negative_zeros: whether weights that are -0.0 are kept too, as for the quantizer ``none``.
        copies: tensors that repeat an earlier one, each with the last position in its source of a weight that is
            pruned although its magnitude is that of the threshold; -1 where there is none.
    """

    vector: StreamedVector
    threshold: Threshold
    negative_zeros: bool = False
    copies: tuple[tuple[EqualTensor, int], ...] = ()

    @classmethod
    def of(
        cls, vector: StreamedVector, pruner: Pruner, sparsity: float, *, negative_zeros: bool = False
    ) -> StreamedPruning:
        """Prune to ``sparsity``, 0..1. Raises SpecError where ``pruner`` needs all weights at once."""
        dropped = round(sparsity * len(vector))
        threshold = pruner.find_threshold(lambda: map(magnitude_bits, vector.read(vector.chunk_slices())), dropped)
        copies = find_equal_tensors(vector.weights) if threshold.bits and threshold.ties else ()
        return cls(vector, threshold, negative_zeros, tuple(_with_last_ties(vector, threshold, copies)))

    @property
    def weights(self) -> Weights:
        """The network before pruning."""
        return self.vector.weights

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """float32, the element type of what ``read`` gives."""
        return np.dtype(np.float32)

    def read(self, parts: Iterable[slice]) -> Iterator[tuple[npt.NDArray[np.bool_], Float32]]:
        """The mask, shape (slice,), and the kept values, shape (kept,), of slices that cover w_net from its start."""
        waiting: list[Float32] = []
        start = 0

        def magnitudes() -> Iterator[npt.NDArray[np.uint32]]:
            for chunk in self.vector.read(parts):
                waiting.append(chunk)
                yield magnitude_bits(chunk)

        for mask in self.threshold.masks(magnitudes()):
            chunk = waiting.pop()
            self._copy_ties(chunk, mask, start)
            start += len(chunk)
            if self.negative_zeros:
                mask |= (chunk == 0) & np.signbit(chunk)
            yield mask, take_masked(chunk, mask)

    def _copy_ties(self, chunk: Float32, mask: npt.NDArray[np.bool_], start: int) -> None:
        """Change the mask of a chunk of w_net, which begins at ``start``, so that copies have that of their source."""
        for copy, last in self.copies:
            first, stop = max(copy.part.start, start), min(copy.part.stop, start + len(chunk))
            if first < stop:
                inside = slice(first - start, stop - start)
                ties = np.flatnonzero(magnitude_bits(chunk[inside]) == self.threshold.bits)
                mask[inside][ties] = copy.positions_in_source(ties + (first - copy.part.start)) > last

    def values(self) -> Iterator[Float32]:
        """All kept values, chunk by chunk."""
        return (values for _, values in self.read(self.vector.chunk_slices()) if len(values))


def _with_last_ties(
    vector: StreamedVector, threshold: Threshold, copies: tuple[EqualTensor, ...]
) -> Iterator[tuple[EqualTensor, int]]:
    """Each copy with the last position in its source of a pruned tie, as in ``StreamedPruning.copies``."""
    if not copies:
        return
    last, seen, start = -1, 0, 0  # the last pruned tie in w_net
    for chunk in vector.read(vector.chunk_slices()):
        ties = np.flatnonzero(magnitude_bits(chunk) == threshold.bits)
        if len(ties) and seen < threshold.ties:
            last = start + int(ties[min(len(ties), threshold.ties - seen) - 1])
        seen, start = seen + len(ties), start + len(chunk)
    for copy in copies:
        yield copy, max(-1, min(last, copy.source.stop) - copy.source.start)


@dataclass(frozen=True, eq=False)
class StreamedSymbols:
    """The symbols of a pruned network, as ``cnet.symbols.SymbolSource`` describes them.

    Attributes:
        pruned: the pruned network.
        codebook: its codebook.
        clusters: number of centroids; None where values are stored as they are.
    """

    pruned: StreamedPruning
    codebook: FittedCodebook
    clusters: int | None

    @classmethod
    def of(cls, pruned: StreamedPruning, quantizer: Quantizer, clusters: int | None) -> StreamedSymbols:
        """The symbols that ``quantizer`` gives a network in memory, bit for bit.

        Raises:
            SpecError: the quantizer needs all values at once.
            CheckpointError: a value is not finite.
        """
        codebook = quantizer.fit_chunks(pruned.values, clusters)
        unlabelled = codebook.assign_labels(np.empty(0, np.float32)) is None
        return cls(pruned, codebook, None if unlabelled else len(codebook.centroids))

    @property
    def weights(self) -> int:
        """Length of w_net."""
        return len(self.pruned.vector)

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """All centroids, shape (k,), float32."""
        return self.codebook.centroids

    @property
    def reconstruction(self) -> None:
        """None: a weight decodes to its centroid, whatever its position."""

    def read(self, slices: Iterable[slice]) -> Iterator[Symbols]:
        """The symbols of slices that cover w_net from its start."""
        for mask, values in self.pruned.read(slices):
            labels = self.codebook.assign_labels(values)
            yield Symbols(mask, labels, values if labels is None else self.codebook.centroids)
