"""Appending the body of a request to an upload: durable while it arrives, so that little is sent again after a cut."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from types import TracebackType
from typing import Self

from anyio import CancelScope
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.api.http.bodies import body_chunks
from app.api.http.errors import ChecksumError
from app.api.http.hashed_writer import SYNC_BYTES, HashedWriter
from app.api.running_hashes import RunningHashes
from app.api.uploads.headers import Checksum
from app.core.errors import ConflictError, ServiceError, TooLargeError
from app.core.settings import Settings
from app.core.uploads import PartialFile, Upload, Uploads

SAVE_SECONDS = 2.0
"""New bytes are made durable after so many seconds, however few they are."""
TICK_SECONDS = 0.25
"""So often a writer looks whether another request asks it to end."""


class Append:
    """One request that appends to an upload, as the writer that its row names; an async context manager.

    At its end everything that has arrived is durable and counted, also where the client went away. Bytes with a
    checksum count only once all of them are there and match.

    Args:
        settings: the settings of the service.
        uploads: the rows.
        hashes: the hashes of unfinished uploads.
        upload: the upload as it is now, with the name of this writer.
        file: takes its bytes.
        checksum: of the request's bytes.
    """

    def __init__(
        self,
        settings: Settings,
        uploads: Uploads,
        hashes: RunningHashes,
        upload: Upload,
        file: PartialFile,
        checksum: Checksum | None,
    ) -> None:
        self._settings = settings
        self._uploads = uploads
        self._hashes = hashes
        self._upload = upload
        self._writer = upload.writer or ""
        self._file = file
        self._checksum = checksum
        self._partial = checksum.start() if checksum else None
        self._whole = hashes.of(upload.id, upload.received_bytes)
        known = [each for each in (self._whole, self._partial) if each is not None]
        self._blocks = HashedWriter(file.write, known)
        self._counted = upload.received_bytes  # bytes that the row counts
        self._parts = 0  # that the row knows
        self._verified = checksum is None
        self._fed = self._saved = 0
        self._saved_at = self._looked_at = time.monotonic()
        self._looking: asyncio.Future[bool] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with CancelScope(shield=True):
            with contextlib.suppress(OSError, ServiceError):  # a full disk; ``receive`` has raised it already
                await self._blocks.flush()
            await self._blocks.close()
            if self._looking is not None:
                await asyncio.wait([self._looking])
            stored = await run_in_threadpool(self._end)
        if error is None and not stored:
            raise _interrupted(self._upload)

    @property
    def received(self) -> int:
        """Number of bytes of the upload that count."""
        return self._upload.received_bytes + (self._blocks.written if self._verified else 0)

    async def receive(self, request: Request) -> None:
        """Append the body of a request.

        Raises:
            ConflictError: (``interrupted``) another request took over.
            TooLargeError: the body has more bytes than the upload lacks.
            ChecksumError: the bytes have another checksum; none of them counts.
            BodyTimeoutError: the client stopped sending.
            ClientDisconnect: the client went away.
            StorageFullError: the disk is full.
        """
        lacking = self._upload.size_bytes - self._upload.received_bytes
        async for chunk in body_chunks(request, self._settings.body_timeout_seconds, TICK_SECONDS):
            self._fed += len(chunk)
            if self._fed > lacking:
                raise TooLargeError(
                    f"upload {self._upload.id}: it lacks {lacking} bytes, and the request has more. Send those alone."
                )
            await self._blocks.feed(chunk)
            await self._look()
        await self._blocks.flush()
        self._verify()

    def _verify(self) -> None:
        if self._checksum is None or self._partial is None:
            return
        if not hmac.compare_digest(self._partial.digest(), self._checksum.digest):
            raise ChecksumError(
                f"upload {self._upload.id}: the bytes do not have the {self._checksum.algorithm} that was sent with "
                "them. Send them again."
            )
        self._verified = True

    async def _look(self) -> None:
        """Begin to save what was written, or to look whether this request may go on, where it is time for it."""
        if self._looking is not None:
            if not self._looking.done():
                return
            looking, self._looking = self._looking, None
            if not looking.result():
                raise _interrupted(self._upload)
        now = time.monotonic()
        late = now - self._saved_at >= SAVE_SECONDS and self._fed > self._saved
        if late:
            await self._blocks.flush()
        save = late or self._blocks.written - self._saved >= SYNC_BYTES
        if save or now - self._looked_at >= TICK_SECONDS:
            self._looked_at = now
            work = self._save if save else self._is_wanted
            if save:
                self._saved_at, self._saved = now, self._blocks.written
            self._looking = asyncio.get_running_loop().run_in_executor(None, work, self.received)

    def _save(self, received: int) -> bool:
        self._file.sync()
        new = self._file.parts_before(received)[self._parts :]
        if not self._uploads.advance(self._upload.id, self._writer, received, new):
            return False
        self._counted = received
        self._parts += len(new)
        return True

    def _is_wanted(self, _: int) -> bool:
        return self._uploads.is_wanted(self._upload.id, self._writer)

    def _end(self) -> bool:
        """Make everything durable, and end this writer. False where it was replaced."""
        received = self._counted
        try:
            if self.received > received:
                self._file.sync()
                received = self.received
        finally:
            new = self._file.parts_before(received)[self._parts :]
            self._file.close()
            complete = received == self._upload.size_bytes and self._whole is not None
            digest = self._whole.hexdigest() if complete and self._whole else None
            stored = self._uploads.end(self._upload.id, self._writer, received, digest, new)
        with contextlib.suppress(ServiceError):  # they are deleted with the upload at the latest
            self._file.discard_from(received if stored else self._counted)
        if stored and self._whole is not None and self._upload.received_bytes < received == self.received:
            self._hashes.keep(self._upload.id, received, self._whole)
        return stored


def _interrupted(upload: Upload) -> ConflictError:
    return ConflictError(
        f"upload {upload.id}: another request asked for it, so this one has ended. Request its offset with HEAD, and "
        "send the bytes from there on.",
        code="interrupted",
    )
