"""Entropy coding of integers under adaptive models: one procedure for both directions, over constriction's ANS coder.

A model is a table of integer counts. A group of symbols is coded in blocks: each block with the probabilities that the
counts give at its start, which then grow by the symbols in it. Encoder and decoder see the same counts, so that
nothing but symbols is stored, and a block is one call of the coder. constriction makes the probabilities from integers
that float32 holds exactly, in one multiplication and one addition each (IEEE 754), so that they are the same on every
machine.

``EntropyCoder.code`` takes the symbols when encoding and returns them when decoding: a procedure that codes something
is written once, and its two directions cannot drift apart.

Source: Bamler, "Understanding entropy coding with asymmetric numeral systems (ANS)" (2022), for the coder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import constriction
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]

_ANS = constriction.stream.stack.AnsCoder
_DISTRIBUTIONS = constriction.stream.model

_INCREMENT = 32  # what one symbol adds to its count
_MAX_SUM = 2**23  # counts are halved from this sum on: float32 holds sums of integers up to 2^24 exactly
_MIN_BLOCK, _SHORT_BLOCK_SHARE = 4, 8  # a block is at most an eighth of the symbols that the model has seen
_MIN_LONG_BLOCK, _LONG_BLOCK_SHARE = 64, 2
_RAW_BITS = 8
_INHERITED_SYMBOLS = 8


class AdaptiveModel:
    """Counts of the symbols 0..size-1.

    Args:
        size: at least 1; with 1 nothing is stored.
        initial_count: of each symbol, in 1/32 of an occurrence.
        long_blocks: whether blocks are long, which saves time and costs bytes.
    """

    def __init__(self, size: int, initial_count: int = 8, *, long_blocks: bool = False) -> None:
        self.size = size
        self.long_blocks = long_blocks
        self._counts = np.full(size, initial_count, np.int64)
        self._sum = size * initial_count
        self._seen = 0

    def successor(self) -> AdaptiveModel:
        """A new model that expects the shares that this one has seen, but adapts fast."""
        new = AdaptiveModel(self.size, long_blocks=self.long_blocks)
        new._counts = 1 + self._counts * (_INCREMENT * _INHERITED_SYMBOLS) // self._sum
        new._sum = int(new._counts.sum())
        return new

    def blocks(self, count: int) -> Iterator[slice]:
        """The blocks of a group of ``count`` symbols; ``update`` must be called after each."""
        least, share = (_MIN_LONG_BLOCK, _LONG_BLOCK_SHARE) if self.long_blocks else (_MIN_BLOCK, _SHORT_BLOCK_SHARE)
        start = 0
        while start < count:
            stop = min(count, start + max(least, self._seen // share))
            yield slice(start, stop)
            start = stop

    def counts(self) -> npt.NDArray[np.float32]:
        """The current counts, shape (size,), float32; their sum is exact in float32."""
        return self._counts.astype(np.float32)

    def update(self, block: Ints) -> None:
        """Add the symbols of a block, shape (n,), int32, to the counts."""
        self._counts += _INCREMENT * np.bincount(block, minlength=self.size)
        self._seen += len(block)
        self._sum += _INCREMENT * len(block)
        while self._sum >= _MAX_SUM:
            self._counts = (self._counts + 1) >> 1
            self._sum = int(self._counts.sum())


class EntropyCoder(ABC):
    """One direction of entropy coding."""

    @abstractmethod
    def code(self, model: AdaptiveModel, symbols: Ints | None, count: int) -> Ints:
        """Code symbols under a model, which learns them.

        Args:
            model: of these symbols.
            symbols: shape (count,), int32; not looked at when decoding.
            count: how many.

        Returns:
            the symbols, shape (count,), int32.
        """

    @abstractmethod
    def raw(self, integers: Ints | None, bits: int, count: int) -> Ints:
        """Code integers of ``bits`` bits, 0..31, without a model.

        Args:
            integers: shape (count,), int32; not looked at when decoding.
            bits: of each.
            count: how many.

        Returns:
            the integers, shape (count,), int32.
        """


class EntropyEncoder(EntropyCoder):
    """Collects what is coded; ``finish`` makes the bytes."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, npt.NDArray[np.float32] | int]] = []

    def code(self, model: AdaptiveModel, symbols: Ints | None, count: int) -> Ints:
        """Note the symbols, each block with the counts at its start; arguments as in ``EntropyCoder.code``."""
        given = _checked(symbols, count)
        if model.size > 1:
            for block in model.blocks(count):
                self._parts.append((given[block], model.counts()))
                model.update(given[block])
        return given

    def raw(self, integers: Ints | None, bits: int, count: int) -> Ints:
        """Note the integers in digits of eight bits, the lowest first; arguments as in ``EntropyCoder.raw``."""
        given = _checked(integers, count)
        for shift in range(0, bits, _RAW_BITS) if count else ():
            width = min(_RAW_BITS, bits - shift)
            self._parts.append(((given >> shift) & ((1 << width) - 1), 1 << width))
        return given

    def finish(self) -> bytes:
        """The bytes of all that was coded. ANS is last in, first out, so that coding starts from the end."""
        stack = _ANS()
        for symbols, counts in reversed(self._parts):
            stack.encode_reverse(symbols, _distribution(counts))
        return bytes(stack.get_compressed().astype("<u4").tobytes())


class EntropyDecoder(EntropyCoder):
    """Decodes the bytes of ``EntropyEncoder.finish``.

    Other bytes give some symbols of the right range and number; the caller checks what they mean.

    Raises:
        ValueError: no encoder ends with such bytes.
    """

    def __init__(self, content: bytes) -> None:
        words = np.frombuffer(content, "<u4").astype(np.uint32)
        if len(words) and words[-1] == 0:
            raise ValueError(
                "entropy-coded bytes: the last word is zero, which no encoder writes. Write the bundle again."
            )
        self._stack = _ANS(words)

    def code(self, model: AdaptiveModel, symbols: Ints | None, count: int) -> Ints:  # noqa: ARG002 - see EntropyCoder
        """The next ``count`` symbols of the model, shape (count,), int32; ``symbols`` is not looked at."""
        if model.size == 1:
            return np.zeros(count, np.int32)
        found = np.empty(count, np.int32)
        for part in model.blocks(count):
            block = self._stack.decode(_distribution(model.counts()), part.stop - part.start)
            found[part] = block
            model.update(block)
        return found

    def raw(self, integers: Ints | None, bits: int, count: int) -> Ints:  # noqa: ARG002 - see EntropyCoder
        """The next ``count`` integers of ``bits`` bits, shape (count,), int32; ``integers`` is not looked at."""
        found = np.zeros(count, np.int32)
        for shift in range(0, bits, _RAW_BITS) if count else ():
            found |= self._stack.decode(_distribution(1 << min(_RAW_BITS, bits - shift)), count) << shift
        return found

    def finish(self) -> None:
        """Check that all bytes were used. Raises ValueError where some are left."""
        if not self._stack.is_empty():
            raise ValueError("entropy-coded bytes: some are left over after the last symbol. Write the bundle again.")


def _checked(symbols: Ints | None, count: int) -> Ints:
    if symbols is None or len(symbols) != count:
        given = "none" if symbols is None else str(len(symbols))
        raise ValueError(f"entropy coding: {given} of {count} symbols were given. Pass all of them to the encoder.")
    return np.ascontiguousarray(symbols, np.int32)


def _distribution(counts: npt.NDArray[np.float32] | int) -> object:
    if isinstance(counts, int):
        return _DISTRIBUTIONS.Uniform(counts)
    return _DISTRIBUTIONS.Categorical(counts, perfect=False)
