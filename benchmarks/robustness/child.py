"""The child process: it limits itself as the sandbox does and reads one mutated file after the other."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.robustness.kinds import Kind
from benchmarks.robustness.mutations import mutated
from cnet.errors import CnetError
from cnet.sandbox import SandboxRequest, answer, limit_resources

_SECONDS = 10  # of processor time
_SECONDS_ASLEEP = 300  # by the clock: other work on the machine may come between
_GIB = 2**30
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - within it, a folder with a name of its own is made
_LONGEST_DETAIL = 2000
_FORBIDDEN = ("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "subprocess.", "socket.", "pickle.")
_LOADING = ("ctypes.dlopen",)


def answer_files(kind: Kind, good: Path, numbers: range, seed: int) -> None:
    """Read the mutations of these numbers; print one line of JSON for each.

    A file that takes too long is ended by a signal, with the process.
    """
    files = [path.read_bytes() for path in sorted(good.iterdir())]
    with tempfile.TemporaryDirectory(dir=_MEMORY_DISK if _MEMORY_DISK.is_dir() else None) as name:
        folder = Path(name)
        os.chdir(folder)
        reading = _Reading(kind, folder)
        for content in files:
            reading.outcome(content)  # imports what reading needs, before it is watched
        warnings.simplefilter("error", RuntimeWarning)  # those of NumPy, which users would see
        warnings.filterwarnings("ignore", "Duplicate name", UserWarning)  # mutations make such archives
        limit_resources(reading.request)
        sys.addaudithook(reading.watch)
        for number in numbers:
            random = np.random.default_rng([seed, number])
            content = mutated(files[number % len(files)], random)
            signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
            signal.alarm(_SECONDS_ASLEEP)
            outcome, detail = reading.outcome(content)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.alarm(0)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            print(json.dumps({"file": number, "outcome": outcome, "detail": detail, "memory": memory}), flush=True)


class _Reading:
    """Reads files of one kind in a folder, and notices what reading may not do."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._source, self._target = folder / "file", folder / "target"
        self._target.mkdir()
        self._noticed: list[str] = []
        self.request = SandboxRequest(
            kind=kind.request or "checkpoint",
            source=str(self._source),
            target=str(self._target),
            elements=2**34,
            memory=kind.memory,
            file_size=2 * _GIB,
            open_files=64,
            cpu_seconds=24 * 3600,
        )

    def watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an audit event of Python that reading a file must not cause."""
        if event.startswith(_FORBIDDEN) or (event in _LOADING and arguments[0] is not None):
            self._noticed.append(f"{event} {arguments!r}"[:200])

    def outcome(self, content: bytes) -> tuple[str, str]:
        """What became of a file of these bytes, and what to say of it."""
        self._source.write_bytes(content)
        self._noticed.clear()
        outcome, detail = self._read()
        made = {path.name for path in self._folder.iterdir()} - {"file", "target"}
        for path in self._target.iterdir():
            path.unlink()
        if made or self._noticed:
            return "exception", f"made {sorted(made)}, caused {self._noticed}"
        if outcome == "refused" and not _is_readable(detail):
            return "exception", f"unreadable refusal: {detail[:300]!r}"
        return outcome, detail if outcome == "exception" else ""

    def _read(self) -> tuple[str, str]:
        try:
            if self._kind.request is not None:
                line = answer(self.request)
                if "error" in line:
                    return "refused", str(line["error"]["detail"])  # type: ignore[index] # a dict where it is there
                if "os_error" in line:
                    return "exception", f"OSError {line['os_error']}"
            self._kind.use(self._source if self._kind.request is None else self._target)
        except CnetError as error:
            return "refused", error.detail
        except MemoryError:
            return "refused", "out of memory."
        except Exception as error:  # noqa: BLE001 - what may not occur is counted, not let through
            return "exception", f"{type(error).__name__}: {error}"[:300]
        return "read", ""


def _is_readable(detail: str) -> bool:
    return 0 < len(detail) <= _LONGEST_DETAIL and detail.isprintable() and detail.endswith(".")
