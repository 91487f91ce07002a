"""The box: a child process that reads one untrusted file under limits and leaves only the canonical form behind.

``python -m cnet.sandbox`` reads one JSON request from standard input, limits itself before it touches the
file, writes the canonical file and ``manifest.json`` to the target folder, and prints one line of JSON, which is
``{"ok": true}``, ``{"error": {"code", "detail"}}`` or ``{"os_error": errno}``. What ends it otherwise is for the
parent to judge.
"""

from __future__ import annotations

import ctypes
import json
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from cnet.data.npz import DatasetManifest, read_npz_dataset, write_dataset
from cnet.documents import StrictDocument
from cnet.errors import CheckpointError, CnetError, DatasetError
from cnet.formats.base import Limits
from cnet.formats.canonical import write_canonical
from cnet.formats.manifest import CheckpointManifest
from cnet.formats.reader import read_checkpoint

WEIGHTS_FILE = "weights.safetensors"
DATASET_FILE = "dataset.safetensors"
MANIFEST_FILE = "manifest.json"

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


class Request(StrictDocument):
    """What to read, where to write, and what it may cost (bytes, and seconds of processor time)."""

    kind: Literal["checkpoint", "dataset"]
    source: str
    target: str
    weights_key: str | None = None
    strip_prefix: bool = True
    elements: int
    memory: int
    file_size: int
    open_files: int
    cpu_seconds: int


def main() -> int:
    """Serve one request. Exit status 0 where a line was printed, 2 for a request that is none."""
    try:
        request = Request.model_validate_json(sys.stdin.buffer.read())
    except ValidationError:
        return 2
    _confine(request)
    sys.stdout.write(json.dumps(_answer(request)) + "\n")
    return 0


def _answer(request: Request) -> dict[str, object]:
    read: Callable[[Request], None] = _checkpoint if request.kind == "checkpoint" else _dataset
    try:
        read(request)
    except CnetError as error:
        return {"error": {"code": error.code, "detail": error.detail}}
    except OSError as error:
        return {"os_error": error.errno or 0}
    except MemoryError:
        return {"error": _no_memory(request)}
    return {"ok": True}


def _checkpoint(request: Request) -> None:
    checkpoint = read_checkpoint(
        request.source,
        weights_key=request.weights_key,
        strip_prefix=request.strip_prefix,
        limits=Limits(elements=request.elements),
    )
    target = Path(request.target)
    write_canonical(target / WEIGHTS_FILE, checkpoint.weights)
    (target / MANIFEST_FILE).write_text(CheckpointManifest.of(checkpoint).to_json(), "utf-8")


def _dataset(request: Request) -> None:
    dataset, warnings = read_npz_dataset(request.source, Limits(elements=request.elements))
    target = Path(request.target)
    write_dataset(target / DATASET_FILE, dataset)
    (target / MANIFEST_FILE).write_text(DatasetManifest.of(dataset, warnings).to_json(), "utf-8")


def _no_memory(request: Request) -> dict[str, str]:
    kind = CheckpointError if request.kind == "checkpoint" else DatasetError
    code = "too_many_elements" if kind is CheckpointError else "too_large"
    return {"code": code, "detail": "the file needs more memory than is allowed to read it"}


def _confine(request: Request) -> None:
    """Give up what reading a file does not need. Whoever starts us has closed files and environment."""
    limits = {
        resource.RLIMIT_AS: request.memory,
        resource.RLIMIT_CPU: request.cpu_seconds,
        resource.RLIMIT_FSIZE: request.file_size,
        resource.RLIMIT_NOFILE: request.open_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
    }
    for kind, value in limits.items():
        _, hard = resource.getrlimit(kind)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (ceiling, ceiling))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
