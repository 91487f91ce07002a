"""The sandbox: a child process that reads one untrusted file under limits and rewrites it in the canonical form.

``python -m cnet.sandbox`` reads one JSON request from standard input, imports the file formats (with those of
plug-ins), limits its own resources and system calls, and only then opens the file. It writes the canonical file and
``manifest.json`` to the target folder (``manifest.json`` alone where the file is canonical already) and prints one line
of JSON: ``{"ok": true}``, ``{"error": {"code", "detail"}}`` or ``{"os_error": errno}``. Where it ends without such a
line, the parent process reports by its exit status.
"""

from __future__ import annotations

import ctypes
import json
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from cnet.data import DATASET_FORMATS
from cnet.data.canonical_dataset import write_dataset
from cnet.data.dataset_manifest import DatasetManifest
from cnet.data.dataset_reader import read_dataset_file
from cnet.documents import StrictDocument
from cnet.errors import CheckpointError, CnetError, DatasetError, ProgramError
from cnet.formats import FORMATS, Limits, read_checkpoint
from cnet.formats.canonical_file import is_canonical, write_canonical
from cnet.formats.checkpoint_manifest import CheckpointManifest
from cnet.formats.safetensors import Safetensors
from cnet.models.programs import ProgramManifest, read_program, write_canonical_program
from cnet.sandbox.syscall_filter import refuse_dangerous_calls

WEIGHTS_FILE = "weights.safetensors"
DATASET_FILE = "dataset.safetensors"
PROGRAM_FILE = "program.safetensors"
MANIFEST_FILE = "manifest.json"

Kind = Literal["checkpoint", "dataset", "program"]
ERRORS: Final[Mapping[Kind, type[CnetError]]] = {
    "checkpoint": CheckpointError,
    "dataset": DatasetError,
    "program": ProgramError,
}
"""The class of the errors of each kind of file."""

TOO_LARGE_CODES: Final[Mapping[Kind, str]] = {
    "checkpoint": "too_many_elements",
    "dataset": "too_large",
    "program": "too_large",
}
"""The code with which a file of each kind is refused that needs more than the limits allow."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


class SandboxRequest(StrictDocument):
    """A file to read, a folder to write to, and the limits.

    ``elements`` limits the tensors or arrays together; ``memory`` the address space, ``file_size`` each written file,
    both in bytes; ``open_files`` the file descriptors; ``cpu_seconds`` the processor time.
    """

    kind: Kind
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
    """Answer one request. Returns the exit status: 0 where a line was printed, 2 for a malformed request."""
    try:
        request = SandboxRequest.model_validate_json(sys.stdin.buffer.read())
    except ValidationError:
        return 2
    FORMATS.names(), DATASET_FORMATS.names()  # imports them: plug-ins are trusted code and may need more than a reader
    limit_resources(request)
    refuse_dangerous_calls()
    sys.stdout.write(json.dumps(answer(request)) + "\n")
    return 0


def answer(request: SandboxRequest) -> dict[str, object]:
    """Read the file and write its canonical form; the line to print, as the module's docstring has it."""
    readers: dict[Kind, Callable[[SandboxRequest], None]] = {
        "checkpoint": _checkpoint,
        "dataset": _dataset,
        "program": _program,
    }
    try:
        readers[request.kind](request)
    except CnetError as error:
        return {"error": {"code": error.code, "detail": error.detail}}
    except OSError as error:
        return {"os_error": error.errno or 0}
    except MemoryError:
        return {"error": _memory_error(request)}
    return {"ok": True}


def _checkpoint(request: SandboxRequest) -> None:
    checkpoint = read_checkpoint(
        request.source,
        weights_key=request.weights_key,
        strip_prefix=request.strip_prefix,
        limits=Limits(elements=request.elements),
    )
    target = Path(request.target)
    if checkpoint.format != Safetensors().name or not is_canonical(Path(request.source), checkpoint.weights):
        write_canonical(target / WEIGHTS_FILE, checkpoint.weights)
    (target / MANIFEST_FILE).write_text(CheckpointManifest.of(checkpoint).to_json(), "utf-8")


def _dataset(request: SandboxRequest) -> None:
    uploaded = read_dataset_file(request.source, Limits(elements=request.elements))
    target = Path(request.target)
    write_dataset(target / DATASET_FILE, uploaded.dataset)
    (target / MANIFEST_FILE).write_text(DatasetManifest.of(uploaded).to_json(), "utf-8")


def _program(request: SandboxRequest) -> None:
    archive = read_program(request.source, limits=Limits(elements=request.elements))
    target = Path(request.target)
    write_canonical_program(target / PROGRAM_FILE, archive.program, archive.weights)
    (target / MANIFEST_FILE).write_text(ProgramManifest.of(archive).to_json(), "utf-8")


def _memory_error(request: SandboxRequest) -> dict[str, str]:
    code = TOO_LARGE_CODES[request.kind]
    return {"code": code, "detail": "the file needs more memory than reading it may take. Make it smaller."}


def limit_resources(request: SandboxRequest) -> None:
    """Limit this process to what reading a file needs. The parent has cleared environment and open files."""
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
