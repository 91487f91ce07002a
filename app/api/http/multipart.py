"""Reading a ``multipart/form-data`` body with one part ``file`` as it arrives, without storing the body itself."""

from __future__ import annotations

import re
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from urllib.parse import unquote

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from app.core.errors import BadRequestError

_EXTENDED_NAME = re.compile(r";\s*filename\*\s*=\s*\"?(?P<charset>[\w.:-]*)'[\w-]*'(?P<name>[^;\"\s]+)", re.IGNORECASE)
_IDENTITY = {"", "7bit", "8bit", "binary"}


class FilePart:
    """Extracts the bytes of the file from the chunks of a body.

    Every method raises BadRequestError (``bad_multipart``) where the body is truncated or malformed, or has another
    part than one ``file``.
    """

    def __init__(self, content_type: str) -> None:
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
        if not boundary:
            raise _bad("its Content-Type names no boundary")
        self.filename: str | None = None
        self._files = 0
        self._headers: dict[str, str] = {}
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._content: list[bytes] = []
        self._ended = False
        try:
            self._parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type]
        except FormParserError as error:
            raise _bad("its boundary is too long") from error

    def feed(self, data: bytes) -> bytes:
        """The bytes of the file within the next chunk of the body."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _bad("it is malformed") from error
        content = b"".join(self._content)
        self._content.clear()
        return content

    def finish(self) -> None:
        """Check, at the end of the body, that it had one complete part ``file``."""
        if not self._ended:
            raise _bad("it ends before its closing boundary, so the upload was interrupted")
        if self._files == 0:
            raise _bad("it has no part named `file`")

    def _callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": lambda data, start, end: self._header_name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header_value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_content,
            "on_part_data": lambda data, start, end: self._content.append(data[start:end]),
            "on_end": self._end,
        }

    def _end_header(self) -> None:
        self._headers[self._header_name.decode("latin-1").lower()] = self._header_value.decode("latin-1")
        self._header_name.clear()
        self._header_value.clear()

    def _begin_content(self) -> None:
        disposition = self._headers.get("content-disposition", "")
        options = parse_options_header(disposition)[1]
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if name != "file":
            raise _bad(f"it has a part named {name[:60]!r}, but options belong in the query, as in ?filename=model.pth")
        if self._headers.get("content-transfer-encoding", "").strip().lower() not in _IDENTITY:
            raise _bad("its part `file` has a Content-Transfer-Encoding, but the bytes must be sent as they are")
        self._files += 1
        if self._files > 1:
            raise _bad("it has two parts named `file`, but each request uploads one file")
        self.filename = _filename(disposition, options.get(b"filename"))

    def _end(self) -> None:
        self._ended = True


def _filename(disposition: str, given: bytes | None) -> str | None:
    """The file name of a part: ``filename*`` (RFC 5987), else ``given``, in which words of RFC 2047 are decoded."""
    extended = _EXTENDED_NAME.search(disposition)
    with suppress(LookupError):  # a character set that Python does not know
        if extended:
            return unquote(extended["name"], extended["charset"] or "utf-8", "replace")
    if given is None:
        return None
    name = given.decode("utf-8", "replace")
    with suppress(LookupError, ValueError, HeaderParseError):
        return str(make_header(decode_header(name))) if "=?" in name else name
    return name


def _bad(why: str) -> BadRequestError:
    return BadRequestError(f"multipart body: {why}. Send exactly one part, named `file`.", code="bad_multipart")
