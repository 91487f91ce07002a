"""Adaptive models of integers over constriction's entropy coder, the same code for writing and for reading.

A model is a table of integer counts. A group of symbols is coded in blocks: each block with the probabilities that the
counts give at its start, which then grow by what was in it. Reader and writer see the same counts, nothing but symbols
is stored, and a block is one call into the coder. Probabilities are made by the coder from integers that float32 holds
exactly, in one multiplication and one addition each (IEEE 754), so that they are the same on every machine.

``Coder.code`` takes the symbols when writing and returns them when reading: a procedure that codes something is
written once, and its two directions cannot drift apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import constriction
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]

_ANS = constriction.stream.stack.AnsCoder
_MODEL = constriction.stream.model

_STEP = 32  # what one symbol adds to its count
_MOST = 2**23  # counts are halved from this sum on: float32 holds the sums of integers up to 2^24 exactly
_FIRST_BLOCK, _GROWTH = 4, 8  # a block is at most an eighth of what the model has seen
_FIRST_QUICK, _GROWTH_QUICK = 64, 2
_RAW_BITS = 8
_INHERITED = 8


class Model:
    """Counts of the symbols 0..size-1.

    Args:
        size: at least 1; with 1 nothing is stored.
        first: the initial count of each symbol, in 1/32 of an occurrence.
        quick: whether blocks are long, to save time.
    """

    def __init__(self, size: int, first: int = 8, *, quick: bool = False) -> None:
        self.size = size
        self.quick = quick
        self._counts = np.full(size, first, np.int64)
        self._sum = size * first
        self._seen = 0

    def next_of_kind(self) -> Model:
        """A new model that expects what this one has seen, but learns fast."""
        new = Model(self.size, quick=self.quick)
        new._counts = 1 + self._counts * (_STEP * _INHERITED) // self._sum
        new._sum = int(new._counts.sum())
        return new

    def blocks(self, count: int) -> Iterator[slice]:
        """How a group of ``count`` symbols is divided; ``update`` must be called after each part."""
        least, growth = (_FIRST_QUICK, _GROWTH_QUICK) if self.quick else (_FIRST_BLOCK, _GROWTH)
        start = 0
        while start < count:
            stop = min(count, start + max(least, self._seen // growth))
            yield slice(start, stop)
            start = stop

    def weights(self) -> npt.NDArray[np.float32]:
        """The present counts; their sum is exact in float32."""
        return self._counts.astype(np.float32)

    def update(self, block: Ints) -> None:
        """Learn the symbols of a block."""
        self._counts += _STEP * np.bincount(block, minlength=self.size)
        self._seen += len(block)
        self._sum += _STEP * len(block)
        while self._sum >= _MOST:
            self._counts = (self._counts + 1) >> 1
            self._sum = int(self._counts.sum())


class Coder(ABC):
    """One direction of coding."""

    @abstractmethod
    def code(self, model: Model, symbols: Ints | None, count: int) -> Ints:
        """Code ``count`` symbols of one model; ``symbols`` is ignored when reading. The symbols, int32."""

    @abstractmethod
    def raw(self, numbers: Ints | None, bits: int, count: int) -> Ints:
        """Code ``count`` numbers of ``bits`` bits, 0..31, as they are."""


class Writer(Coder):
    """Collects what is coded; ``finish`` makes the bytes."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, npt.NDArray[np.float32] | int]] = []

    def code(self, model: Model, symbols: Ints | None, count: int) -> Ints:
        """Note the symbols, each block with the counts at its start."""
        given = _checked(symbols, count)
        if model.size > 1:
            for part in model.blocks(count):
                self._parts.append((given[part], model.weights()))
                model.update(given[part])
        return given

    def raw(self, numbers: Ints | None, bits: int, count: int) -> Ints:
        """Note the numbers, in digits of eight bits, the lowest first."""
        given = _checked(numbers, count)
        for shift in range(0, bits, _RAW_BITS) if count else ():
            width = min(_RAW_BITS, bits - shift)
            self._parts.append(((given >> shift) & ((1 << width) - 1), 1 << width))
        return given

    def finish(self) -> bytes:
        """All that was coded, as bytes; last in first out, as the coder is a stack."""
        stack = _ANS()
        for symbols, weights in reversed(self._parts):
            stack.encode_reverse(symbols, _model(weights))
        return bytes(stack.get_compressed().astype("<u4").tobytes())


class Reader(Coder):
    """Reads what ``Writer.finish`` made.

    Bytes that are something else give some symbols of the right range and number; whoever reads checks.

    Raises:
        ValueError: the bytes cannot have come from a writer.
    """

    def __init__(self, content: bytes) -> None:
        words = np.frombuffer(content, "<u4").astype(np.uint32)
        if len(words) and words[-1] == 0:
            raise ValueError("a coded stream does not end in a zero word")
        self._stack = _ANS(words)

    def code(self, model: Model, symbols: Ints | None, count: int) -> Ints:  # noqa: ARG002 - the other direction's
        """The next ``count`` symbols of the model."""
        if model.size == 1:
            return np.zeros(count, np.int32)
        read = np.empty(count, np.int32)
        for part in model.blocks(count):
            block = self._stack.decode(_model(model.weights()), part.stop - part.start)
            read[part] = block
            model.update(block)
        return read

    def raw(self, numbers: Ints | None, bits: int, count: int) -> Ints:  # noqa: ARG002
        """The next ``count`` numbers of ``bits`` bits."""
        read = np.zeros(count, np.int32)
        for shift in range(0, bits, _RAW_BITS) if count else ():
            read |= self._stack.decode(_model(1 << min(_RAW_BITS, bits - shift)), count) << shift
        return read

    def finish(self) -> None:
        """Check that nothing is left. Raises ValueError."""
        if not self._stack.is_empty():
            raise ValueError("a coded stream is longer than what it holds")


def _checked(symbols: Ints | None, count: int) -> Ints:
    if symbols is None or len(symbols) != count:
        raise ValueError("a writer needs all the symbols that it is to code")
    return np.ascontiguousarray(symbols, np.int32)


def _model(weights: npt.NDArray[np.float32] | int) -> object:
    if isinstance(weights, int):
        return _MODEL.Uniform(weights)
    return _MODEL.Categorical(weights, perfect=False)
