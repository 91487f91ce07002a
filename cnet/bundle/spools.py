"""Byte streams that are written side by side and read one after the other: in memory while short, else in files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_IN_MEMORY = 2**22


class Spools:
    """Some named streams; what they hold is gone once they are closed.

    Args:
        folder: where files lie that are too long for memory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._files: dict[str, IO[bytes]] = {}
        self._heads: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, name: str, part: bytes) -> None:
        """Append to a stream."""
        if name not in self._files:
            file = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(self._folder))  # noqa: SIM115 - the stack closes it
            self._files[name] = self._stack.enter_context(file)
        self._files[name].write(part)

    def set_head(self, name: str, head: bytes) -> None:
        """What comes before all that is written to a stream."""
        self._heads[name] = head

    def size(self, name: str) -> int:
        """Bytes of a stream, its head included."""
        return len(self._heads.get(name, b"")) + (self._files[name].tell() if name in self._files else 0)

    def chunks(self, names: Sequence[str], size: int) -> Iterator[bytes]:
        """The streams one after the other, ``size`` bytes at a time, the last chunk what is left."""
        held = bytearray()
        for part in self._parts(names, size):
            held += part
            while len(held) >= size:
                yield bytes(held[:size])
                del held[:size]
        if held:
            yield bytes(held)

    def _parts(self, names: Sequence[str], size: int) -> Iterator[bytes]:
        for name in names:
            yield self._heads.get(name, b"")
            if name in self._files:
                file = self._files[name]
                file.seek(0)
                while part := file.read(size):
                    yield part
