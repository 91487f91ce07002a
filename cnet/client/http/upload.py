"""Uploads of files: small ones in one request, others by the tus protocol, so that a cut costs little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cnet.client.errors import ApiError, ClientError
from cnet.client.http import tus
from cnet.client.http.call import Body, Call, idempotency, may_succeed_later, pause_after
from cnet.client.http.download import OnBytes
from cnet.client.http.transport import Transport
from cnet.files import file_sha256, read_chunks

LEAST_RESUMABLE = 8 * 2**20
"""Files of so many bytes are sent in a way that can go on after a cut; of a smaller one little is lost."""

_READING_SECONDS = 660.0  # the server parses the file in its sandbox before it answers
_MOST_CUTS = 8  # how often in a row the connection may break without a byte that arrived


@dataclass(frozen=True)
class LocalFile:
    """A file to upload.

    Attributes:
        path: where it is.
        size: in bytes.
        digest: SHA-256 in hex.
        on_progress: called with the bytes that are sent and all bytes; None where nobody wants to know.
    """

    path: Path
    size: int
    digest: str
    on_progress: OnBytes | None

    def body(self, start: int = 0) -> Body:
        """A function that makes the stream of the bytes from ``start`` on."""
        return partial(self._chunks, start)

    def _chunks(self, start: int) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            file.seek(start)
            for chunk in read_chunks(file):
                yield chunk
                start += len(chunk)
                if self.on_progress is not None:
                    self.on_progress(start, self.size)


async def upload_file(
    transport: Transport, route: str, path: Path, options: Mapping[str, Any], on_progress: OnBytes | None
) -> dict[str, Any]:
    """Send a file to a route that takes uploads, and return the answer: the object that was made of it.

    A file that the server has already is not sent; one that was sent in part before, by this process or another one, is
    sent from there on.

    Args:
        transport: to the server.
        route: such as ``/v1/checkpoints``.
        path: the file.
        options: of the route, as JSON values.
        on_progress: called with the bytes that are sent and all bytes.

    Raises:
        ApiError, UnreachableError: the server refused, or did not answer.
        OSError: the file cannot be read.
    """
    digest = await transport.work(partial(file_sha256, path))
    file = LocalFile(path, path.stat().st_size, digest, on_progress)
    named = {**options, "filename": path.name, "sha256": digest}
    stored = await _of_stored(transport, route, named)
    if stored is not None:
        if on_progress is not None:
            on_progress(file.size, file.size)
        return stored
    upload = await _sent(transport, file) if file.size >= LEAST_RESUMABLE else None
    if upload is None:
        return await transport.document(_whole(route, named, file))
    document = {**named, "upload": upload}
    made = await transport.document(Call("POST", route, headers=idempotency(), json=document, timeout=_READING_SECONDS))
    await _forget(transport, upload)
    return made


async def _of_stored(transport: Transport, route: str, named: Mapping[str, Any]) -> dict[str, Any] | None:
    """The object that the server makes of a file that it has already; None where the file has to be sent."""
    try:
        asked = await transport.send(Call("HEAD", f"/v1/blobs/sha256:{named['sha256']}"))
        if asked.status_code != 204:
            return None
        call = Call("POST", route, headers=idempotency(), json=dict(named), timeout=_READING_SECONDS)
        return await transport.document(call)
    except ApiError as error:
        if error.status in (404, 405, 415):  # 405 and 415: a server of an earlier release
            return None
        raise


def _whole(route: str, options: Mapping[str, Any], file: LocalFile) -> Call:
    """The request that sends the file as its body."""
    return Call(
        "POST",
        route,
        params={name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()},
        headers={"Content-Type": "application/octet-stream", "Content-Length": str(file.size), **idempotency()},
        body=file.body(),
        timeout=_READING_SECONDS,
    )


async def _sent(transport: Transport, file: LocalFile) -> str | None:
    """The id of an upload that has all bytes of the file; None where the server has no such uploads."""
    begun = await _find(transport, file)
    if begun is None:
        try:
            begun = tus.Begun.of(await transport.send(tus.creation(file.path.name, file.size, file.digest)), file.size)
        except ApiError as error:
            if error.status in (404, 405):
                return None
            raise
    offset, cuts = begun.offset, 0
    while offset < file.size:
        try:
            offset = await _append(transport, begun.id, offset, file)
        except ClientError as error:
            if cuts == _MOST_CUTS or not (may_succeed_later(error) or tus.goes_on(error)):
                raise
            await transport.connection.sleep(pause_after(cuts, error))
            arrived = tus.offset_of(await transport.send(tus.question(begun.id)))
            cuts = cuts + 1 if arrived <= offset else 0
            offset = arrived
    return begun.id


async def _append(transport: Transport, upload: str, offset: int, file: LocalFile) -> int:
    """Send the bytes from ``offset`` on, and return how many the server has then."""
    async with transport.stream(tus.append(upload, offset, file.size, file.body(offset))) as response:
        await transport.connection.read(response)
        return tus.offset_of(response)


async def _find(transport: Transport, file: LocalFile) -> tus.Begun | None:
    """An upload of the same file that was begun before; None where there is none."""
    try:
        page = await transport.document(Call("GET", tus.ROUTE))
    except ApiError as error:
        if error.status in (404, 405):
            return None
        raise
    for row in page["data"]:
        if row["size_bytes"] != file.size or row["sha256"] not in (None, file.digest):
            continue
        answer = await transport.send(tus.question(row["id"]))
        if tus.digest_of(answer) == file.digest:
            return tus.Begun(row["id"], tus.offset_of(answer))
    return None


async def _forget(transport: Transport, upload: str) -> None:
    """Delete an upload of which an object was made. Where that fails, the server does it later."""
    try:
        await transport.send(tus.deletion(upload))
    except ClientError:
        return
