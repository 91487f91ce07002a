"""The client has a call for every operation of the HTTP API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from keyword import iskeyword
from pathlib import Path
from typing import Any, get_type_hints

import httpx2
import pytest

from cnet.client import Client
from cnet.client.documents import Document
from cnet.client.http.upload import LEAST_RESUMABLE
from tests.api_document import api_document

OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, operations in api_document()["paths"].items()
    for method, operation in operations.items()
}
NOT_CALLED = {"describe_uploads"}
"""Operations without a call: what OPTIONS says of uploads is in the catalogue's limits."""

UPLOADS = {"create_upload", "append_to_upload", "get_offset", "has_file", "create_checkpoint"}
CALLS: dict[str, Callable[[Client, Path], Any]] = {
    **dict.fromkeys(UPLOADS, lambda client, file: client.upload_checkpoint(file)),
    "list_uploads": lambda client, _: client.uploads(),
    "get_upload": lambda client, _: client.upload("up_1"),
    "delete_upload": lambda client, _: client.delete_upload("up_1"),
    "list_checkpoints": lambda client, _: client.checkpoints(),
    "get_checkpoint": lambda client, _: client.checkpoint("ckpt_1"),
    "delete_checkpoint": lambda client, _: client.delete_checkpoint("ckpt_1"),
    "list_tensors": lambda client, _: client.tensors("ckpt_1"),
    "get_checkpoint_content": lambda client, file: client.download_checkpoint("ckpt_1", file),
    "create_dataset": lambda client, file: client.upload_dataset(file),
    "list_datasets": lambda client, _: client.datasets(),
    "get_dataset": lambda client, _: client.dataset("ds_1"),
    "delete_dataset": lambda client, _: client.delete_dataset("ds_1"),
    "create_program": lambda client, file: client.upload_program(file),
    "list_programs": lambda client, _: client.programs(),
    "get_program": lambda client, _: client.program("prog_1"),
    "delete_program": lambda client, _: client.delete_program("prog_1"),
    "create_job": lambda client, _: client.submit({}),
    "validate_job": lambda client, _: client.validate({}),
    "list_jobs": lambda client, _: client.jobs(),
    "get_job": lambda client, _: client.job("job_1"),
    "delete_job": lambda client, _: client.delete_job("job_1"),
    "cancel_job": lambda client, _: client.cancel("job_1"),
    "retry_job": lambda client, _: client.retry("job_1"),
    "list_job_events": lambda client, _: client.event_list("job_1"),
    "get_job_log": lambda client, _: client.logs("job_1"),
    "list_deliveries": lambda client, _: client.deliveries("job_1"),
    "show_webhook_secret": lambda client, _: client.webhook_secret(),
    "create_study": lambda client, _: client.submit_study({}, {}),
    "list_studies": lambda client, _: client.studies(),
    "get_study": lambda client, _: client.study("study_1"),
    "delete_study": lambda client, _: client.delete_study("study_1"),
    "cancel_study": lambda client, _: client.cancel_study("study_1"),
    "retry_study": lambda client, _: client.retry_study("study_1"),
    "get_study_results": lambda client, _: client.study_results("study_1"),
    "get_results": lambda client, _: client.results("job_1"),
    "get_bundle": lambda client, file: client.download("job_1", file),
    "get_model": lambda client, file: client.download_model("job_1", file),
    "get_metrics": lambda client, _: client.metrics("job_1"),
    "get_plot": lambda client, _: client.plot("job_1"),
    "plot_jobs": lambda client, _: client.compare_plot(["job_1", "job_2"]),
    "list_points_of_jobs": lambda client, _: client.compare_csv(["job_1", "job_2"]),
    "get_catalogue": lambda client, _: client.catalogue(),
    "list_workers": lambda client, _: client.workers(),
    "list_keys": lambda client, _: client.keys(),
    "create_key": lambda client, _: client.create_key("ann"),
    "revoke_key": lambda client, _: client.revoke_key("key_1"),
    "get_liveness": lambda client, _: client.alive(),
    "get_readiness": lambda client, _: client.ready(),
    "get_service_metrics": lambda client, _: client.service_metrics(),
}
"""A call of the client that uses each operation. An operation that is added to the API is added here too."""


class DocumentedServer:
    """Answers each request with the example in the OpenAPI document; ``seen`` are the operations that were asked for.

    It has no file yet, and one upload that was begun with a file of ``size`` bytes.
    """

    def __init__(self, size: int) -> None:
        self.seen: list[str] = []
        self._size = size

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request."""
        name, operation = _operation(request)
        self.seen.append(name)
        if name == "has_file":
            return httpx2.Response(404, json={"detail": "no such file"})
        if name == "create_upload":
            return httpx2.Response(201, headers={"Location": "/v1/uploads/up_1"})
        if name in ("append_to_upload", "get_offset"):
            return httpx2.Response(204, headers={"Upload-Offset": str(self._size)})
        example = _example(operation)
        if name == "list_uploads":
            example["data"][0] |= {"size_bytes": self._size, "sha256": None}
        return httpx2.Response(200, json=example) if isinstance(example, dict) else httpx2.Response(200, text=example)


def _operation(request: httpx2.Request) -> tuple[str, dict[str, Any]]:
    """The operation that a request asks for. Raises AssertionError where the API has none."""
    for name, (method, path, operation) in OPERATIONS.items():
        if method == request.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), request.url.path):
            return name, operation
    raise AssertionError(f"{request.method} {request.url.path} is not in the API")


def _example(operation: dict[str, Any]) -> Any:
    """A copy of the example of an answer, a JSON object if there is one; an empty text where it has no content."""
    answer = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    examples = [media["example"] for media in answer.get("content", {}).values() if "example" in media]
    found = next((each for each in examples if isinstance(each, dict)), examples[0] if examples else "")
    return deepcopy(found)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - NOT_CALLED))
def test_the_client_has_a_call_for_every_operation(name: str, tmp_path: Path) -> None:
    """It reads the answer that the API documents for it, and its class declares each member of it."""
    assert name in CALLS, f"add a call for {name} to cnet.client, and to CALLS"
    file = tmp_path / "model.npz"
    file.write_bytes(bytes(LEAST_RESUMABLE))
    server = DocumentedServer(LEAST_RESUMABLE)

    with Client("http://server", transport=httpx2.MockTransport(server)) as client:
        result = CALLS[name](client, file)
        unknown = [f"{type(each).__name__}.{key}" for each in _documents(result) for key in _untyped(each)]

    assert name in server.seen
    assert unknown == []


def _documents(value: Any) -> Iterator[Document]:
    """The documents in a result, those inside others too."""
    if isinstance(value, Document):
        yield value
        for key in value:
            yield from _documents(getattr(value, key))
    elif isinstance(value, list):
        for each in value:
            yield from _documents(each)


def _untyped(document: Document) -> set[str]:
    """The members of a document that its class does not declare: a type checker does not know them."""
    kind = type(document)
    declared = {*get_type_hints(kind), *(name for name in dir(kind) if isinstance(getattr(kind, name), property))}
    return {name for name in document if not hasattr(dict, name) and not iskeyword(name)} - declared


def test_no_call_is_listed_for_an_operation_that_is_gone() -> None:
    """So the table stays a picture of the API."""
    assert set(CALLS) | NOT_CALLED == set(OPERATIONS)
