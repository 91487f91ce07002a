"""Multipart uploads with one part ``file``; everything else is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.http.multipart import FilePart
from app.core.errors import BadRequestError
from tests.api_bench import Bench, body_chunk, raw, small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem

TYPE = "multipart/form-data; boundary=BOUND"
END = b"\r\n--BOUND--\r\n"


def part(data: bytes, name: str = "file", extra: bytes = b"") -> bytes:
    """One part, without the end of the body."""
    disposition = f'Content-Disposition: form-data; name="{name}"; filename="m.npz"\r\n'.encode()
    return b"--BOUND\r\n" + disposition + extra + b"\r\n" + data


def test_form_upload(bench: Bench) -> None:
    """A form with one part is the same as a raw body, and has the file name of the part."""
    answer = bench.client.post("/v1/checkpoints", files={"file": ("m.npz", small_weights())})
    assert answer.status_code == 201
    assert answer.json()["filename"] == "m.npz"
    raw_answer = bench.client.post("/v1/checkpoints", content=small_weights())
    assert raw_answer.json()["sha256"] == answer.json()["sha256"]


def test_query_overrides_the_part_name(bench: Bench) -> None:
    """``?filename=`` replaces the file name in the form."""
    answer = bench.client.post("/v1/checkpoints?filename=other", files={"file": ("m.npz", small_weights())})
    assert answer.json()["filename"] == "other"


BAD: list[tuple[str, bytes, str]] = [
    ("two files", part(b"a") + b"\r\n" + part(b"b") + END, "two parts"),
    ("another part", part(b"a", "spec") + END, "'spec'"),
    ("another part after", part(b"a") + b"\r\n" + part(b"b", "weights_key") + END, "query"),
    ("cut in the data", part(b"abc"), "interrupted"),
    ("cut at the boundary", part(b"abc") + b"\r\n--BOUND", "interrupted"),
    ("empty body", b"", "interrupted"),
    ("no part", b"--BOUND--\r\n", "no part"),
    ("no boundary at all", b"hello", "malformed"),
    ("no name", b"--BOUND\r\nContent-Type: a/b\r\n\r\nx" + END, "''"),
    ("endless headers", b"--BOUND\r\nX: " + b"y" * 100_000, "malformed"),
    ("base64", part(b"YQ==", extra=b"Content-Transfer-Encoding: base64\r\n") + END, "Encoding"),
]


@pytest.mark.parametrize(("body", "says"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_form(bench: Bench, body: bytes, says: str) -> None:
    """A form that is not exactly one complete file is refused, with the reason."""
    answer = bench.client.post("/v1/checkpoints", content=body, headers={"Content-Type": TYPE})
    problem = check_problem(answer, 400, "bad_multipart")
    assert says in problem["detail"]
    assert bench.leftovers() == []


@pytest.mark.parametrize("kind", ["multipart/form-data", f"multipart/form-data; boundary={'b' * 5000}"])
def test_bad_boundary(bench: Bench, kind: str) -> None:
    """A missing boundary and one that is too long are refused."""
    answer = bench.client.post("/v1/checkpoints", content=b"x", headers={"Content-Type": kind})
    check_problem(answer, 400, "bad_multipart")


def test_empty_file_in_a_form(bench: Bench) -> None:
    """An empty part is an empty file."""
    answer = bench.client.post("/v1/checkpoints", files={"file": ("m.npz", b"")})
    check_problem(answer, 422, "empty_file")


def test_limit_counts_the_file_not_the_form(begin: Start) -> None:
    """The limit applies to the file alone."""
    body = small_weights()
    bench = begin(max_upload_bytes=len(body))
    assert bench.client.post("/v1/checkpoints", files={"file": ("m.npz", body)}).status_code == 201
    answer = bench.client.post("/v1/checkpoints", files={"file": ("m.npz", body + b"x")})
    check_problem(answer, 413, "too_large")


def test_endless_preamble_is_bounded(begin: Start) -> None:
    """Bytes outside the file are limited, too."""
    bench = begin(max_upload_bytes=10)
    chunks = [body_chunk(b"\r\n" * 20_000) for _ in range(3)]
    answer = raw(bench.app, "POST", "/v1/checkpoints", chunks, [("Content-Type", TYPE)])
    assert answer.status in {400, 413}


@given(st.binary(max_size=300), st.integers(1, 40))
def test_any_content_in_any_chunks(data: bytes, size: int) -> None:
    """The file is read unchanged, however the body is divided into chunks."""
    body = part(data) + END
    if b"\r\n--BOUND" in data:
        return
    file = FilePart(TYPE)
    got = b"".join(file.feed(body[start : start + size]) for start in range(0, len(body), size))
    file.finish()
    assert got == data
    assert file.filename == "m.npz"


@given(st.binary(max_size=200))
def test_any_garbage_is_refused_or_read(body: bytes) -> None:
    """No body makes the parser raise anything but BadRequestError."""
    file = FilePart(TYPE)
    with suppress(BadRequestError):
        file.feed(b"--BOUND\r\n" + body)
        file.finish()


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ("filename=\"model.pth\"; filename*=UTF-8''mod%C3%A8le.pth", "modèle.pth"),
        ("filename*=UTF-8'en'na%20me.pth", "na me.pth"),
        ("filename*=iso-8859-1''mod%E8le.pth", "modèle.pth"),
        ("filename=\"plain.pth\"; filename*=nonsense''%41", "plain.pth"),
        ('filename="=?utf-8?B?bW9kw6hsZS5wdGg=?="', "modèle.pth"),
        ('filename="=?utf-8?Q?mod=C3=A8le.pth?="', "modèle.pth"),
        ('filename="=?nonsense?Q?a?="', "=?nonsense?Q?a?="),
        ('filename="a=?b.pth"', "a=?b.pth"),
    ],
)
def test_encoded_names_are_decoded(parameters: str, name: str) -> None:
    """The extended parameter of RFC 5987, and the encoded words of RFC 2047."""
    file = FilePart(TYPE)
    file.feed(f'--BOUND\r\nContent-Disposition: form-data; name="file"; {parameters}\r\n\r\nx'.encode() + END)
    file.finish()

    assert file.filename == name
