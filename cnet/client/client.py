"""The HTTP client of a cnet server.

    with Client("http://127.0.0.1:8000") as client:
        checkpoint = client.upload_checkpoint(Path("model.pth"))
        job = client.submit({"checkpoint": checkpoint["id"], "prune": {"name": "magnitude", "sparsity": 0.9}})
        job = client.wait(job["id"])
        client.download(job["id"], Path("model.cnet.npz"))

The dictionaries that it takes and returns are the JSON documents of the HTTP API.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx2

from cnet.client.download import download_file
from cnet.client.errors import ApiError, UnreachableError, WaitTimeoutError
from cnet.client.transport import Call, Transport, retryable
from cnet.files import file_sha256, read_chunks

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cnet.pipeline.local.compress_module import CompressedModule, Data

FINAL = frozenset({"succeeded", "failed", "cancelled", "timed_out"})
"""The statuses of a job that has ended."""

_LONGEST_WAIT = 30  # seconds of one waiting request; the server allows 60


class Client:
    """A client of one server with one API key; a context manager that closes its connections at its end.

    It may be used by one thread at a time.

    Args:
        server: the server's address.
        api_key: None for a server on this machine that asks for no key.
        retries: how often a request that got no answer, 429 or 5xx is sent again.
        transport: replaces the network in tests.
        sleep: waits between attempts; replaced in tests.

    All methods raise ApiError (the server refused) and UnreachableError (it did not answer, after several attempts).
    """

    def __init__(
        self,
        server: str = "http://127.0.0.1:8000",
        api_key: str | None = None,
        *,
        retries: int = 5,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = Transport(server, api_key, retries=retries, transport=transport, sleep=sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def upload_checkpoint(
        self, path: Path, *, weights_key: str | None = None, strip_prefix: bool = True
    ) -> dict[str, Any]:
        """Upload a checkpoint file and return the Checkpoint. Raises OSError where the file cannot be read."""
        params = {"strip_prefix": str(strip_prefix).lower()}
        if weights_key is not None:
            params["weights_key"] = weights_key
        return self._upload("/v1/checkpoints", path, params)

    def upload_dataset(self, path: Path) -> dict[str, Any]:
        """Upload a data set file and return the Dataset. Raises OSError where the file cannot be read."""
        return self._upload("/v1/datasets", path, {})

    def upload_program(self, path: Path) -> dict[str, Any]:
        """Upload a ``torch.export`` archive and return the Program. Raises OSError where it cannot be read."""
        return self._upload("/v1/programs", path, {})

    def program(self, program_id: str) -> dict[str, Any]:
        """A program."""
        return self._document(Call("GET", _program(program_id)))

    def programs(self, *, limit: int = 50) -> list[dict[str, Any]]:
        """The newest ``limit`` programs, the newest first."""
        return self._list("/v1/programs", {}, limit)

    def compress(  # noqa: PLR0913 - as cnet.compress
        self,
        module: nn.Module,
        data: Data | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        task: str = "classification",
        output: int | None = None,
        example_inputs: Sequence[Tensor] | Tensor | None = None,
        out: str | Path | None = None,
        timeout: float | None = None,
    ) -> CompressedModule:
        """Compress a module on the server and load the result into it: export, upload, submit, wait, download.

        The arguments are those of ``cnet.compress`` (``example_inputs``: tensors of any shape whose first axis counts
        samples); ``timeout`` is how many seconds to wait for the job. Imports PyTorch.

        Raises:
            ProgramError: the module cannot be exported.
            ClientError: the job did not succeed, with its code and its words.
            WaitTimeoutError: it has not ended in time. It goes on.
            OSError: a file cannot be written.
        """
        from cnet.client.compress_module import compress_module
        from cnet.pipeline.local.compress_module import exported_job

        exported = exported_job(module, data, spec or {}, task=task, output=output, example_inputs=example_inputs)
        with exported as job:
            return compress_module(self, module, job, Path(out) if out is not None else None, timeout)

    def delete_program(self, program_id: str) -> None:
        """Delete a program. Raises ApiError (409) while a job needs it."""
        self._transport.send(Call("DELETE", _program(program_id)))

    def validate(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Check a job specification without queueing it; returns ``estimate`` and ``warnings``."""
        return self._post("/v1/jobs:validate", spec)

    def submit(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Queue a job and return it."""
        return self._post("/v1/jobs", spec)

    def job(self, job_id: str, *, wait: int = 0) -> dict[str, Any]:
        """A job as it is now; with ``wait``, after its next change or after so many seconds (at most 60)."""
        params = {"wait": str(wait)} if wait else {}
        return self._document(Call("GET", _job(job_id), params=params, timeout=60.0 + wait))

    def jobs(self, *, status: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """The newest ``limit`` jobs, the newest first; with ``status``, only those in this state."""
        return self._list("/v1/jobs", {"status": status} if status else {}, limit)

    def wait(self, job_id: str, *, timeout: float | None = None) -> dict[str, Any]:
        """Wait until a job has ended, however it ends, and return it.

        Raises:
            WaitTimeoutError: it has not ended after ``timeout`` seconds. It goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        job = self.job(job_id)
        while job["status"] not in FINAL:
            left = _LONGEST_WAIT if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(
                    f"job {job_id}: it has not ended after {timeout:g} s, and goes on. Wait longer, or cancel it."
                )
            job = self.job(job_id, wait=max(1, min(int(left), _LONGEST_WAIT)))
        return job

    def events(self, job_id: str, *, after: int = 0) -> Iterator[dict[str, Any]]:
        """The job's events as they happen, those after number ``after``, until the job has ended.

        A connection that breaks is made again: no event is lost, and none comes twice.
        """
        last, failures = after, 0
        while True:
            try:
                for event in self._events_once(job_id, last):
                    last, failures = event["id"], 0
                    yield event
                    if event["type"] == "status" and event["status"] in FINAL:
                        return
                failures += 1
                if failures > 1 and self.job(job_id)["status"] in FINAL:
                    return
            except (ApiError, UnreachableError) as error:
                failures += 1
                if failures > 8 or not retryable(error):
                    raise
            self._transport.sleep(min(0.25 * 2**failures, 10.0))

    def logs(self, job_id: str) -> str:
        """The job's log as text."""
        return self._transport.send(Call("GET", f"{_job(job_id)}/logs")).text

    def results(self, job_id: str) -> dict[str, Any]:
        """The results of a job: ``{"baseline", "points", "selected"}``."""
        return self._document(Call("GET", f"{_job(job_id)}/results"))

    def cancel(self, job_id: str) -> dict[str, Any]:
        """Ask a job to end. Raises ApiError (409) where it has ended."""
        return self._post(f"{_job(job_id)}/cancel", None)

    def download(self, job_id: str, path: Path, *, point: int | None = None) -> str:
        """Write the bundle of a point, or of the selected one, to ``path``, completely or not at all.

        Returns:
            the SHA-256 of the file in hex, equal to the one that the server sent.

        Raises:
            ClientError: (``digest_mismatch``) the content arrived changed.
            OSError: the file cannot be written.
        """
        params = {} if point is None else {"point": str(point)}
        return download_file(self._transport, Call("GET", f"{_job(job_id)}/bundle", params=params, timeout=300.0), path)

    def _upload(self, route: str, path: Path, params: dict[str, str]) -> dict[str, Any]:
        call = Call(
            "POST",
            route,
            params={**params, "filename": path.name, "sha256": file_sha256(path)},
            headers={
                "Content-Type": "application/octet-stream",
                "Content-Length": str(path.stat().st_size),
                "Idempotency-Key": str(uuid.uuid4()),
            },
            body=lambda: _chunks(path),
            timeout=660.0,  # the server parses the file in its sandbox before it answers
        )
        return self._document(call)

    def _list(self, route: str, params: dict[str, str], limit: int) -> list[dict[str, Any]]:
        """The first ``limit`` entries of a list, page by page."""
        found: list[dict[str, Any]] = []
        while len(found) < limit:
            page = self._document(Call("GET", route, params={**params, "limit": str(min(limit - len(found), 200))}))
            found += page["data"]
            if not page["has_more"]:
                break
            params = {**params, "after": page["next"]}
        return found

    def _post(self, route: str, document: Mapping[str, Any] | None) -> dict[str, Any]:
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        return self._document(Call("POST", route, headers=headers, json=None if document is None else dict(document)))

    def _document(self, call: Call) -> dict[str, Any]:
        document = self._transport.json(call)
        if not isinstance(document, dict):
            raise UnreachableError(
                f"server {self._transport.server}: its answer is not that of a cnet server. Check the address."
            )
        return document

    def _events_once(self, job_id: str, last: int) -> Iterator[dict[str, Any]]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
        with self._transport.stream(Call("GET", f"{_job(job_id)}/events", headers=headers)) as response:
            for message in httpx2.EventSource(response):
                document = message.json() if message.data else None
                if isinstance(document, dict):
                    yield document


def _program(program_id: str) -> str:
    return f"/v1/programs/{quote(program_id, safe='')}"


def _job(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from read_chunks(file)
