"""A ``multipart/form-data`` body with one part ``file``, taken apart as it comes in: no second copy, no surprises."""

from __future__ import annotations

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from app.core.errors import BadRequestError

_IDENTITY = {"", "7bit", "8bit", "binary"}


class FilePart:
    """Takes the body in pieces and gives the file's bytes in pieces.

    Every method raises BadRequestError (``bad_multipart``): for a body that is cut off or malformed, for a part that
    is not ``file``, and for a second one.
    """

    def __init__(self, content_type: str) -> None:
        boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
        if not boundary:
            raise _bad("its Content-Type names no boundary")
        self.filename: str | None = None
        self._files = 0
        self._headers: dict[str, str] = {}
        self._field = bytearray()
        self._value = bytearray()
        self._pieces: list[bytes] = []
        self._ended = False
        try:
            self._parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type]
        except FormParserError as error:
            raise _bad("its boundary is too long") from error

    def feed(self, data: bytes) -> bytes:
        """The file's bytes within the next piece of the body."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _bad("it is malformed") from error
        piece = b"".join(self._pieces)
        self._pieces.clear()
        return piece

    def finish(self) -> None:
        """Called at the end of the body; raises unless one whole part ``file`` was there."""
        if not self._ended:
            raise _bad("it ends before its closing boundary: the upload was cut off")
        if self._files == 0:
            raise _bad("it has no part named file")

    def _callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": lambda data, start, end: self._field.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._header_end,
            "on_headers_finished": self._part,
            "on_part_data": lambda data, start, end: self._pieces.append(data[start:end]),
            "on_end": self._end,
        }

    def _header_end(self) -> None:
        self._headers[self._field.decode("latin-1").lower()] = self._value.decode("latin-1")
        self._field.clear()
        self._value.clear()

    def _part(self) -> None:
        options = parse_options_header(self._headers.get("content-disposition"))[1]
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if name != "file":
            raise _bad(f"it has a part named {name[:60]!r}; options go into the query, as in ?filename=model.pth")
        if self._headers.get("content-transfer-encoding", "").strip().lower() not in _IDENTITY:
            raise _bad("its part file has a Content-Transfer-Encoding; send the bytes as they are")
        self._files += 1
        if self._files > 1:
            raise _bad("it has two parts named file; upload one file a request")
        given = options.get(b"filename")
        self.filename = given.decode("utf-8", "replace") if given is not None else None

    def _end(self) -> None:
        self._ended = True


def _bad(why: str) -> BadRequestError:
    return BadRequestError(
        f"the multipart body cannot be used: {why}. Send exactly one part, named file", code="bad_multipart"
    )
