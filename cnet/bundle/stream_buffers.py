"""Byte streams that are written side by side and read one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_MOST_IN_MEMORY = 2**22  # bytes of one stream


class StreamBuffers:
    """Named byte streams: in memory while short, else in temporary files, which closing removes.

    Args:
        folder: where the temporary files are made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._files: dict[str, IO[bytes]] = {}
        self._prefixes: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def append(self, name: str, content: bytes) -> None:
        """Write ``content`` to the end of a stream, which begins with its first write."""
        if name not in self._files:
            file = tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY, dir=str(self._folder))  # noqa: SIM115 - the stack closes it
            self._files[name] = self._stack.enter_context(file)
        self._files[name].write(content)

    def set_prefix(self, name: str, prefix: bytes) -> None:
        """Put ``prefix`` before everything that was or will be written to a stream."""
        self._prefixes[name] = prefix

    def size(self, name: str) -> int:
        """Bytes of a stream, its prefix included; 0 for one that was never written to."""
        return len(self._prefixes.get(name, b"")) + (self._files[name].tell() if name in self._files else 0)

    def chunks(self, names: Sequence[str], size: int) -> Iterator[bytes]:
        """The streams one after the other in chunks of ``size`` bytes; the last chunk may be shorter."""
        waiting = bytearray()
        for part in self._parts(names, size):
            waiting += part
            while len(waiting) >= size:
                yield bytes(waiting[:size])
                del waiting[:size]
        if waiting:
            yield bytes(waiting)

    def _parts(self, names: Sequence[str], size: int) -> Iterator[bytes]:
        for name in names:
            yield self._prefixes.get(name, b"")
            if name in self._files:
                file = self._files[name]
                file.seek(0)
                while part := file.read(size):
                    yield part
