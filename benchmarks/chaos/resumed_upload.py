"""An upload by tus whose connections break, and which goes on at whichever API process answers."""

from __future__ import annotations

import http.client
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from benchmarks.chaos.caller import Caller

_TUS = {"Tus-Resumable": "1.0.0"}
_CHUNK = {**_TUS, "Content-Type": "application/offset+octet-stream"}
_PATIENCE = 300.0


@dataclass
class UploadCounts:
    """What happened to the uploads of one thread: requests that we broke off, and acknowledged bytes."""

    cuts: int = 0
    acknowledged: int = 0


def upload(caller: Caller, data: bytes, filename: str, counts: UploadCounts) -> str:
    """Upload bytes in several requests, of which some are broken off. Returns the id of the upload.

    An offset that the server has told never becomes smaller: those bytes were acknowledged.
    """
    headers = {**_TUS, "Upload-Length": str(len(data)), "Idempotency-Key": f"upload-{filename}"}
    path = caller.send("POST", "/v1/uploads", 201, headers=headers).headers["Location"]
    deadline, told = time.monotonic() + _PATIENCE, 0
    while told < len(data):
        assert time.monotonic() < deadline, f"{path}: {told} of {len(data)} bytes within {_PATIENCE:.0f} s"
        now = int(caller.send("HEAD", path, 200, headers=_TUS).headers["Upload-Offset"])
        assert now >= told, f"{path}: {told} bytes were acknowledged, of which {now} are left"
        told = max(now, _append(caller, path, data, now, counts))
    counts.acknowledged += told
    return str(path).rpartition("/")[2]


def _append(caller: Caller, path: str, data: bytes, offset: int, counts: UploadCounts) -> int:
    """Send some of the bytes. Returns how many of all were acknowledged, 0 where no answer says so."""
    chunk = data[offset : offset + caller.random.randint(1, max(len(data) // 3, 1))]
    if chunk and caller.random.random() < 0.4:
        _break_off(caller, path, chunk, offset)
        counts.cuts += 1
        return 0
    answer = caller.once("PATCH", path, content=chunk, headers={**_CHUNK, "Upload-Offset": str(offset)})
    if answer is None or answer.status_code in (409, 423):  # a request that was broken off is still being ended
        return 0
    assert answer.status_code == 204, answer.text
    return int(answer.headers["Upload-Offset"])


def _break_off(caller: Caller, path: str, chunk: bytes, offset: int) -> None:
    """Announce a chunk, send a part of it, and reset the connection."""
    address = urlsplit(caller.url())
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
    try:
        connection.putrequest("PATCH", path)
        for name, value in {**_CHUNK, "Upload-Offset": str(offset), "Content-Length": str(len(chunk))}.items():
            connection.putheader(name, value)
        connection.endheaders(chunk[: caller.random.randint(0, len(chunk) - 1)])
        assert connection.sock is not None
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    except OSError:
        pass  # the API process was killed
    finally:
        connection.close()
