"""Reading untrusted files in a child process under limits. The server itself never looks at their bytes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.core.telemetry.logs import get_logger
from cnet.data.dataset_manifest import DatasetManifest
from cnet.errors import CnetError
from cnet.formats.checkpoint_manifest import CheckpointManifest
from cnet.models.programs import ProgramManifest
from cnet.sandbox import ERRORS, MANIFEST_FILE, TOO_LARGE_CODES, Kind, SandboxRequest

log = get_logger(__name__)

_ENVIRONMENT = {"LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_GIB = 2**30


@dataclass(frozen=True)
class SandboxLimits:
    """Limits for reading one file.

    Attributes:
        elements: number of elements of all tensors (or arrays) together.
        memory, memory_per_byte: bytes of address space: a fixed number, and more for each byte of the file.
        output, output_per_byte: bytes of the largest file that may be written: a fixed number, and more for each byte.
        seconds, seconds_per_gib: seconds of processor time: a fixed number, and more for each GiB of the file.
        open_files: number of file descriptors.
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
    """Reads each file in a new child process, in a session and process group of its own. Several threads may use it.

    A child starts within tenths of a second, because it imports NumPy but not PyTorch.
    """

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or SandboxLimits()

    def checkpoint(
        self, source: Path, target_dir: Path, weights_key: str | None = None, *, strip_prefix: bool = True
    ) -> CheckpointManifest:
        """Read a checkpoint and write its canonical form to ``target_dir / "weights.safetensors"``.

        Where ``source`` is in canonical form already, no file is written.

        Raises:
            CheckpointError: with one of the contract's refusal codes.
            OSError: the server cannot write the result, for instance because its disk is full.
        """
        request = self._request("checkpoint", source, target_dir)
        request = request.model_copy(update={"weights_key": weights_key, "strip_prefix": strip_prefix})
        return CheckpointManifest.from_json(self._run(request))

    def dataset(self, source: Path, target_dir: Path) -> DatasetManifest:
        """Read a data set and write its canonical form to ``target_dir / "dataset.safetensors"``.

        Raises:
            DatasetError: with one of the contract's refusal codes.
            OSError: the server cannot write the result, for instance because its disk is full.
        """
        return DatasetManifest.from_json(self._run(self._request("dataset", source, target_dir)))

    def program(self, source: Path, target_dir: Path) -> ProgramManifest:
        """Read a ``torch.export`` archive and write its canonical form to ``target_dir / "program.safetensors"``.

        Raises:
            ProgramError: with one of the contract's refusal codes.
            OSError: the server cannot write the result, for instance because its disk is full.
        """
        return ProgramManifest.from_json(self._run(self._request("program", source, target_dir)))

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
        """Run the child process and return the JSON of the manifest.

        It may take one and a half times its processor time, because it also waits for the disk.
        """
        with tempfile.TemporaryDirectory(prefix="sandbox-") as folder, tempfile.TemporaryFile() as stderr:
            child = _start(folder, stderr)
            try:
                output, _ = child.communicate(request.model_dump_json().encode(), 1.5 * request.cpu_seconds)
            except subprocess.TimeoutExpired:
                raise _over_limit(request.kind, "it takes too long to read") from None
            finally:
                _kill(child)
            _check_outcome(request.kind, child.returncode, output, stderr)
        return (Path(request.target) / MANIFEST_FILE).read_text("utf-8")


def _start(folder: str, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the child in isolated mode (-I), so that neither environment nor working folder changes what it imports."""
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "cnet.sandbox"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=folder,
        env=_ENVIRONMENT,
        close_fds=True,
        start_new_session=True,
    )


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's process group where it still runs, and close its pipes."""
    if child.poll() is None:  # it was not waited for yet, so no other process can have its id
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def _check_outcome(kind: Kind, status: int, output: bytes, stderr: IO[bytes]) -> None:
    """Raise the error that the child reported, or that its exit status means. Returns where it succeeded."""
    answer = _parse(output) if status == 0 else {}
    if answer.get("ok") is True:
        return
    if "error" in answer:
        raise ERRORS[kind](str(answer["error"]["detail"]), code=str(answer["error"]["code"]))
    if "os_error" in answer:
        number = int(answer["os_error"])
        if number == errno.EFBIG:
            raise _over_limit(kind, "its contents are larger than the server accepts")
        raise OSError(number, os.strerror(number))
    stderr.seek(0)
    wrote = stderr.read(20_000).decode("utf-8", "replace")
    log.error("the process that reads an uploaded file has failed", kind=kind, exit_status=status, wrote=wrote)
    if -status in (signal.SIGKILL, signal.SIGXCPU):
        raise _over_limit(kind, "reading it needs more time or memory than the server allows")
    raise ERRORS[kind]("file: its contents are malformed. Save it again with the program that made it.", code="corrupt")


def _parse(output: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(output)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _over_limit(kind: Kind, what: str) -> CnetError:
    return ERRORS[kind](
        f"file: {what}. Upload a smaller one, or ask whoever runs the server for higher limits.",
        code=TOO_LARGE_CODES[kind],
    )
