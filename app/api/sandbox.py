"""Read an untrusted file in a child process under limits (decision 1); the parent never looks at its bytes."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

from cnet.data.dataset_manifest import DatasetManifest
from cnet.errors import CheckpointError, CnetError, DatasetError
from cnet.formats.checkpoint_manifest import CheckpointManifest
from cnet.sandbox import MANIFEST_FILE, SandboxRequest

log = logging.getLogger(__name__)

Kind = Literal["checkpoint", "dataset"]
_ERRORS: Final[dict[Kind, type[CnetError]]] = {"checkpoint": CheckpointError, "dataset": DatasetError}
_TOO_MUCH: Final[dict[Kind, str]] = {"checkpoint": "too_many_elements", "dataset": "too_large"}
_ENVIRONMENT = {"LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_GIB = 2**30


@dataclass(frozen=True)
class SandboxLimits:
    """What reading one file may cost.

    Attributes:
        elements: elements of all tensors (or arrays) together.
        memory, memory_per_byte: bytes of address space: a base, and so many for each byte of the file.
        output, output_per_byte: bytes of the largest file written, likewise.
        seconds, seconds_per_gib: wall time, and as much processor time, likewise for each GiB of the file.
        open_files: file descriptors.
    """

    elements: int = 2**34
    memory: int = 4 * _GIB
    memory_per_byte: int = 4
    output: int = 2 * _GIB
    output_per_byte: int = 65
    seconds: int = 120
    seconds_per_gib: int = 60
    open_files: int = 64


class Sandbox:
    """Reads files, each in a fresh child process of its own session and process group. Thread-safe.

    A child starts in some tenths of a second: it imports NumPy, not PyTorch.
    """

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or SandboxLimits()

    def checkpoint(
        self, source: Path, target_dir: Path, weights_key: str | None = None, *, strip_prefix: bool = True
    ) -> CheckpointManifest:
        """Read a checkpoint and write its canonical form to ``target_dir / "weights.safetensors"``.

        Raises:
            CheckpointError: with one of the contract's refusal codes.
            OSError: ``ENOSPC`` and the like: the server's trouble, not the file's.
        """
        request = self._request("checkpoint", source, target_dir)
        request = request.model_copy(update={"weights_key": weights_key, "strip_prefix": strip_prefix})
        return CheckpointManifest.from_json(self._run(request))

    def dataset(self, source: Path, target_dir: Path) -> DatasetManifest:
        """Read an npz data set and write its canonical form to ``target_dir / "dataset.safetensors"``.

        Raises:
            DatasetError: with one of the contract's refusal codes.
            OSError: ``ENOSPC`` and the like: the server's trouble, not the file's.
        """
        return DatasetManifest.from_json(self._run(self._request("dataset", source, target_dir)))

    def _request(self, kind: Kind, source: Path, target: Path) -> SandboxRequest:
        size, limits = source.stat().st_size, self.limits
        return SandboxRequest(
            kind=kind,
            source=str(source.resolve()),
            target=str(target.resolve()),
            elements=limits.elements,
            memory=limits.memory + limits.memory_per_byte * size,
            file_size=limits.output + limits.output_per_byte * size,
            open_files=limits.open_files,
            cpu_seconds=limits.seconds + limits.seconds_per_gib * size // _GIB,
        )

    def _run(self, request: SandboxRequest) -> str:
        """The manifest's JSON. Wall time is that of the processor and half as much again, for waiting on disks."""
        with tempfile.TemporaryDirectory(prefix="box-") as folder, tempfile.TemporaryFile() as complaints:
            child = _start(folder, complaints)
            try:
                output, _ = child.communicate(request.model_dump_json().encode(), 1.5 * request.cpu_seconds)
            except subprocess.TimeoutExpired:
                raise _too_much(request.kind, "takes too long to read") from None
            finally:
                _end(child)
            _judge(request.kind, child.returncode, output, complaints)
        return (Path(request.target) / MANIFEST_FILE).read_text("utf-8")


def _start(folder: str, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    """Isolated mode (-I): neither the environment nor the working folder can put a module in the child's way."""
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "cnet.sandbox"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        cwd=folder,
        env=_ENVIRONMENT,
        close_fds=True,
        start_new_session=True,
    )


def _end(child: subprocess.Popen[bytes]) -> None:
    """Leave nothing of the child's process group behind, whatever happened."""
    if child.poll() is None:  # not waited for yet, so its number cannot be another's by now
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def _judge(kind: Kind, status: int, output: bytes, complaints: IO[bytes]) -> None:
    """Return where the child succeeded; raise what it says, or what its death says."""
    answer = _parse(output) if status == 0 else {}
    if answer.get("ok") is True:
        return
    if "error" in answer:
        raise _ERRORS[kind](str(answer["error"]["detail"]), code=str(answer["error"]["code"]))
    if "os_error" in answer:
        number = int(answer["os_error"])
        if number == errno.EFBIG:
            raise _too_much(kind, "unfolds to more than is taken")
        raise OSError(number, os.strerror(number))
    complaints.seek(0)
    log.error("the box ended with status %s: %s", status, complaints.read(20_000).decode("utf-8", "replace"))
    if -status in (signal.SIGKILL, signal.SIGXCPU):
        raise _too_much(kind, "needs more time or memory than is allowed to read it")
    raise _ERRORS[kind]("the file could not be read: its contents are malformed", code="corrupt")


def _parse(output: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(output)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _too_much(kind: Kind, what: str) -> CnetError:
    return _ERRORS[kind](f"the file {what}", code=_TOO_MUCH[kind])
