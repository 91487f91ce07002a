"""The client for an event loop: the same calls as the one that blocks."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from cnet.client import AsyncClient, AsyncJob, Client, Job, NotFoundError
from cnet.client.documents import Event
from tests.unit.cnet.client.scripted import answers, async_client_of, client_of, job, stream


def methods(kind: type[Any]) -> set[str]:
    """The public names of a class that can be called."""
    return {name for name, value in inspect.getmembers(kind) if callable(value) and not name.startswith("_")}


@pytest.mark.parametrize(("blocking", "waiting"), [(Client, AsyncClient), (Job, AsyncJob)])
def test_both_clients_have_the_same_methods(blocking: type[Any], waiting: type[Any]) -> None:
    """With the same arguments and the same docstrings."""
    assert methods(blocking) == methods(waiting)
    for name in methods(waiting) - set(dir(dict)) - {"check"}:
        ours, theirs = getattr(blocking, name), getattr(waiting, name)
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name
        assert inspect.getdoc(ours) == inspect.getdoc(theirs), name
        assert "Async" not in str(inspect.signature(ours).return_annotation), name


def test_a_job_from_submission_to_download(tmp_path: Path) -> None:
    """Each step is awaited; the job is updated in place."""
    ended = job("succeeded", selected=0)
    bundle = httpx2.Response(200, content=b"bundle")

    async def run() -> tuple[str, str]:
        async with async_client_of(answers(job(), job("running"), ended, bundle)) as client:
            submitted = await client.submit({})
            assert submitted.status == "queued"
            await submitted.wait()
            return submitted.status, await submitted.download(tmp_path / "b.npz")

    assert anyio.run(run) == ("succeeded", hashlib.sha256(b"bundle").hexdigest())


def test_an_upload_is_streamed_again_after_a_fault(tmp_path: Path) -> None:
    """The whole file, under the same key; pauses do not block the loop."""
    (tmp_path / "model.pth").write_bytes(b"x" * 3_000_000)
    seen: list[tuple[str, int]] = []
    pauses: list[float] = []
    progress: list[tuple[int, int]] = []

    async def handler(request: httpx2.Request) -> httpx2.Response:
        if request.method == "HEAD":  # whether the server has the file already
            return httpx2.Response(404)
        seen.append((request.headers["Idempotency-Key"], len(await request.aread())))
        return httpx2.Response(503, headers={"Retry-After": "2"}) if len(seen) == 1 else httpx2.Response(201, json={})

    async def run() -> None:
        async with async_client_of(handler, pauses) as client:  # type: ignore[arg-type] # an async handler of the same kind
            await client.upload_checkpoint(tmp_path / "model.pth", on_progress=lambda *at: progress.append(at))

    anyio.run(run)

    assert [size for _, size in seen] == [3_000_000, 3_000_000]
    assert len({key for key, _ in seen}) == 1
    assert pauses == [2.0]
    assert progress[-1] == (3_000_000, 3_000_000)


def test_events_may_be_received_by_a_coroutine() -> None:
    """It is awaited before the next event."""
    events = [{"id": 1, "type": "phase", "phase": "load"}, {"id": 2, "type": "status", "status": "succeeded"}]
    seen: list[str] = []

    async def on_event(event: Event) -> None:
        await anyio.sleep(0)
        seen.append(event.type)

    async def run() -> AsyncJob:
        async with async_client_of(answers(stream(*events), job("succeeded"))) as client:
            return await client.wait("job_1", on_event=on_event)

    assert anyio.run(run).status == "succeeded"
    assert seen == ["phase", "status"]


def test_errors_are_those_of_the_other_client() -> None:
    """One tree, by status."""

    async def run() -> None:
        async with async_client_of(answers(httpx2.Response(404, json={"code": "not_found", "detail": "no"}))) as client:
            await client.job("job_1")

    with pytest.raises(NotFoundError):
        anyio.run(run)


def test_a_stream_that_is_left_early_is_closed() -> None:
    """The answer is closed with the loop that reads it, in both clients."""
    closed: list[bool] = []

    class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
        """A stream that says when it was closed."""

        def __iter__(self) -> Any:
            yield b'id: 1\nevent: log\ndata: {"id": 1, "type": "log", "log": "a"}\n\n'

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b'id: 1\nevent: log\ndata: {"id": 1, "type": "log", "log": "a"}\n\n'

        def close(self) -> None:
            closed.append(True)

        async def aclose(self) -> None:
            closed.append(True)

    response = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, stream=Body())
    events = client_of(answers(response)).events("job_1")
    assert next(events)["id"] == 1
    events.close()  # type: ignore[attr-defined] # it is a generator

    assert closed == [True]
