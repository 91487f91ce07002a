"""The tus protocol: each rule of the core and of the extensions, against the API."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from app.core.clock import utc_now
from app.core.db.tables import uploads
from tests.api_bench import DISCONNECT, Bench, body_chunk, raw, small_dataset, small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem

TUS = {"Tus-Resumable": "1.0.0"}
CHUNK = {**TUS, "Content-Type": "application/offset+octet-stream"}


def metadata(**values: str) -> str:
    """The header Upload-Metadata."""
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


def create(bench: Bench, size: int, **headers: str) -> str:
    """Begin an upload; returns its path."""
    answer = bench.client.post("/v1/uploads", headers={**TUS, "Upload-Length": str(size), **headers})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["Location"])


def append(bench: Bench, path: str, offset: int, data: bytes, **headers: str) -> Any:
    """Send bytes."""
    return bench.client.patch(path, content=data, headers={**CHUNK, "Upload-Offset": str(offset), **headers})


def offset_of(bench: Bench, path: str) -> int:
    """The offset that the server tells."""
    return int(bench.client.head(path, headers=TUS).headers["Upload-Offset"])


def checksum(data: bytes, algorithm: str = "sha256") -> str:
    """The header Upload-Checksum."""
    return f"{algorithm} {base64.b64encode(hashlib.new(algorithm, data).digest()).decode()}"


def expire(bench: Bench, path: str) -> None:
    """Let the time of an upload be up."""
    with bench.backend.database.write() as connection:
        connection.execute(uploads.update().where(uploads.c.id == path.split("/")[-1]).values(expires_at=utc_now()))


def test_options_tell_what_the_server_can(begin: Start) -> None:
    """Version, extensions, largest size, and the checksums."""
    headers = begin(max_upload_bytes=12345).client.options("/v1/uploads").headers
    assert headers["Tus-Resumable"] == headers["Tus-Version"] == "1.0.0"
    assert headers["Tus-Extension"].split(",") == [
        "creation",
        "creation-with-upload",
        "checksum",
        "expiration",
        "termination",
    ]
    assert headers["Tus-Max-Size"] == "12345"
    assert "sha256" in headers["Tus-Checksum-Algorithm"].split(",")


def test_an_upload_in_two_requests_becomes_a_checkpoint(bench: Bench) -> None:
    """Begin, send, ask, send, use: the checkpoint is that of the whole file."""
    data = small_weights()
    sent = metadata(filename="net.npz", purpose="checkpoint")
    path = create(bench, len(data), **{"Upload-Metadata": sent})

    first = append(bench, path, 0, data[:100])
    assert (first.status_code, first.headers["Upload-Offset"]) == (204, "100")
    asked = bench.client.head(path, headers=TUS)
    assert (asked.headers["Upload-Offset"], asked.headers["Upload-Length"]) == ("100", str(len(data)))
    assert (asked.headers["Upload-Metadata"], asked.headers["Cache-Control"]) == (sent, "no-store")
    assert append(bench, path, 100, data[100:]).headers["Upload-Offset"] == str(len(data))

    shown = bench.client.get(path).json()
    assert (shown["complete"], shown["sha256"]) == (True, hashlib.sha256(data).hexdigest())
    answer = bench.client.post("/v1/checkpoints", json={"upload": shown["id"]})
    assert answer.status_code == 201, answer.text
    checkpoint = answer.json()
    assert (checkpoint["filename"], checkpoint["sha256"]) == ("net.npz", shown["sha256"])
    assert checkpoint["size_bytes"] == len(data)


def test_options_of_the_file_are_in_the_json(bench: Bench) -> None:
    """The body's fields replace those of the query; a wrong digest is refused."""
    data = small_dataset()
    path = create(bench, len(data))
    append(bench, path, 0, data)
    body = {"upload": path.split("/")[-1], "filename": "b.npz"}

    answer = bench.client.post("/v1/datasets?filename=a.npz", json=body)
    assert (answer.status_code, answer.json()["filename"]) == (201, "b.npz")
    wrong = bench.client.post("/v1/datasets", json={**body, "sha256": "0" * 64})
    check_problem(wrong, 422, "digest_mismatch")


def test_creation_with_the_first_bytes(bench: Bench) -> None:
    """The body of the creation counts, and the answer says how much of it."""
    headers = {**CHUNK, "Upload-Length": "10"}
    answer = bench.client.post("/v1/uploads", content=b"abcd", headers=headers)
    assert (answer.status_code, answer.headers["Upload-Offset"]) == (201, "4")
    assert offset_of(bench, answer.headers["Location"]) == 4


def test_repeated_creation_gives_the_same_upload(bench: Bench) -> None:
    """With an Idempotency-Key a lost answer costs nothing, and the bytes of the first request count."""
    headers = {**CHUNK, "Upload-Length": "4", "Idempotency-Key": "k"}
    first = bench.client.post("/v1/uploads", content=b"abcd", headers=headers)
    again = bench.client.post("/v1/uploads", content=b"abcd", headers=headers)
    assert again.headers["Location"] == first.headers["Location"]
    assert (again.status_code, again.headers["Upload-Offset"]) == (201, "4")
    assert again.headers["Idempotency-Replayed"] == "true"
    other = bench.client.post("/v1/uploads", headers={**headers, "Upload-Length": "5"})
    check_problem(other, 422, "idempotency_mismatch")


def test_an_empty_upload_is_complete_at_once(bench: Bench) -> None:
    """Zero bytes need no PATCH, and are no checkpoint."""
    path = create(bench, 0)
    assert bench.client.get(path).json()["complete"] is True
    answer = bench.client.post("/v1/checkpoints", json={"upload": path.split("/")[-1]})
    check_problem(answer, 422, "empty_file")


def test_wrong_offset_changes_nothing(bench: Bench) -> None:
    """409, and the bytes stay as they were."""
    path = create(bench, 8)
    append(bench, path, 0, b"abcd")
    for wrong in (0, 3, 5):
        check_problem(append(bench, path, wrong, b"x"), 409, "wrong_offset")
    append(bench, path, 4, b"efgh")
    assert bench.client.get(path).json()["sha256"] == hashlib.sha256(b"abcdefgh").hexdigest()


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
def test_bytes_with_a_wrong_checksum_do_not_count(bench: Bench, algorithm: str) -> None:
    """460, the offset stays, and the right bytes go on from there."""
    path = create(bench, 8)
    append(bench, path, 0, b"abcd", **{"Upload-Checksum": checksum(b"abcd", algorithm)})
    answer = append(bench, path, 4, b"evil", **{"Upload-Checksum": checksum(b"efgh", algorithm)})
    check_problem(answer, 460, "checksum_mismatch")
    assert offset_of(bench, path) == 4
    append(bench, path, 4, b"efgh", **{"Upload-Checksum": checksum(b"efgh", algorithm)})
    assert bench.client.get(path).json()["sha256"] == hashlib.sha256(b"abcdefgh").hexdigest()


def test_more_bytes_than_declared_are_refused(bench: Bench) -> None:
    """413 by the Content-Length, and also without one."""
    path = create(bench, 4)
    check_problem(append(bench, path, 0, b"abcde"), 413, "too_large")
    headers = [(name, value) for name, value in {**CHUNK, "Upload-Offset": "0"}.items()]
    answer = raw(bench.app, "PATCH", path, [body_chunk(b"abc"), body_chunk(b"de", more=False)], headers)
    assert (answer.status, answer.json()["code"]) == (413, "too_large")


def test_what_arrived_before_the_connection_broke_counts(bench: Bench) -> None:
    """The client goes on at the last byte that the server has."""
    path = create(bench, 8)
    headers = [(name, value) for name, value in {**CHUNK, "Upload-Offset": "0"}.items()]
    raw(bench.app, "PATCH", path, [body_chunk(b"abc"), body_chunk(b"de"), DISCONNECT], headers)
    assert offset_of(bench, path) == 5


def test_a_broken_connection_with_a_checksum_counts_nothing(bench: Bench) -> None:
    """Bytes whose checksum cannot be verified are dropped."""
    path = create(bench, 8)
    headers = {**CHUNK, "Upload-Offset": "0", "Upload-Checksum": checksum(b"abcdefgh")}
    raw(bench.app, "PATCH", path, [body_chunk(b"abcd"), DISCONNECT], list(headers.items()))
    assert offset_of(bench, path) == 0


def test_a_silent_client_is_refused_and_its_bytes_count(begin: Start) -> None:
    """408 after the time that the settings allow."""
    bench = begin(body_timeout_seconds=0.3)
    path = create(bench, 8)
    headers = {**CHUNK, "Upload-Offset": "0"}
    answer = raw(bench.app, "PATCH", path, [body_chunk(b"abc")], list(headers.items()))
    assert (answer.status, answer.json()["code"]) == (408, "request_timeout")
    assert offset_of(bench, path) == 3


def test_a_lost_hash_is_computed_when_the_upload_is_used(bench: Bench) -> None:
    """Another process received the first bytes: the digest is still that of the whole file."""
    data = small_weights()
    path = create(bench, len(data))
    append(bench, path, 0, data[:50])
    bench.backend.hashes.forget(path.split("/")[-1])
    append(bench, path, 50, data[50:])
    assert bench.client.get(path).json()["sha256"] is None
    answer = bench.client.post("/v1/checkpoints", json={"upload": path.split("/")[-1]})
    assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()
    assert bench.client.get(path).json()["sha256"] == hashlib.sha256(data).hexdigest()


def test_an_incomplete_upload_is_no_file_yet(bench: Bench) -> None:
    """409 until all bytes are there."""
    path = create(bench, 8)
    answer = bench.client.post("/v1/programs", json={"upload": path.split("/")[-1]})
    check_problem(answer, 409, "upload_incomplete")


def test_deleted_upload_is_gone_with_its_bytes(bench: Bench) -> None:
    """204, then 404; no file stays."""
    path = create(bench, 8)
    append(bench, path, 0, b"abcd")
    assert bench.client.delete(path, headers=TUS).status_code == 204
    assert bench.client.head(path, headers=TUS).status_code == 404
    check_problem(append(bench, path, 4, b"efgh"), 404, "not_found")
    assert list(bench.backend.partial_files.ids()) == []


def test_expired_upload_is_410(bench: Bench) -> None:
    """Before and after its bytes were removed."""
    path = create(bench, 8)
    append(bench, path, 0, b"abcd")
    expire(bench, path)
    check_problem(append(bench, path, 4, b"efgh"), 410, "gone")
    bench.backend.uploads.expire()
    assert bench.client.head(path, headers=TUS).status_code == 410
    check_problem(bench.client.get(path), 410, "gone")
    assert bench.client.get("/v1/uploads").json()["data"] == []


def test_bytes_postpone_the_expiry(bench: Bench) -> None:
    """Each answer tells the new time."""
    path = create(bench, 8)
    before = bench.client.get(path).json()["expires_at"]
    assert "Upload-Expires" in append(bench, path, 0, b"ab").headers
    assert bench.client.get(path).json()["expires_at"] > before


def test_too_large_an_upload_is_refused_when_it_begins(begin: Start) -> None:
    """413 before a byte is sent."""
    bench = begin(max_upload_bytes=1000)
    answer = bench.client.post("/v1/uploads", headers={**TUS, "Upload-Length": "1001"})
    check_problem(answer, 413, "too_large")


def test_quota_of_bytes(begin: Start) -> None:
    """507 where the owner's bytes are used up, 413 where the file can never fit."""
    bench = begin(max_owner_bytes=1000)
    first = create(bench, 600)
    check_problem(bench.client.post("/v1/uploads", headers={**TUS, "Upload-Length": "401"}), 507, "storage_full")
    check_problem(bench.client.post("/v1/uploads", headers={**TUS, "Upload-Length": "1001"}), 413, "too_large")
    bench.client.delete(first, headers=TUS)
    create(bench, 401)


def test_quota_of_open_uploads(begin: Start) -> None:
    """429 with Retry-After; a complete upload does not count."""
    bench = begin(max_open_uploads=1)
    path = create(bench, 2)
    answer = bench.client.post("/v1/uploads", headers={**TUS, "Upload-Length": "2"})
    check_problem(answer, 429, "too_many")
    assert int(answer.headers["Retry-After"]) > 0
    append(bench, path, 0, b"ab")
    create(bench, 2)


def test_a_full_disk_is_507(begin: Start) -> None:
    """Before a byte is sent."""
    bench = begin(min_free_bytes=2**60)
    check_problem(bench.client.post("/v1/uploads", headers={**TUS, "Upload-Length": "2"}), 507, "storage_full")


def test_override_of_the_method(bench: Bench) -> None:
    """Clients behind proxies that know GET and POST alone send PATCH as POST."""
    path = create(bench, 4)
    headers = {**CHUNK, "Upload-Offset": "0", "X-HTTP-Method-Override": "PATCH"}
    assert bench.client.post(path, content=b"abcd", headers=headers).status_code == 204
    assert bench.client.post(path, headers={**TUS, "X-HTTP-Method-Override": "HEAD"}).headers["Upload-Offset"] == "4"
    check_problem(bench.client.post(path, headers=TUS), 400, "bad_header")
    assert bench.client.post(path, headers={**TUS, "X-HTTP-Method-Override": "DELETE"}).status_code == 204


REFUSED_HEADERS: list[tuple[dict[str, str], int, str]] = [
    ({"Upload-Length": "2"}, 412, "unsupported_version"),
    ({"Upload-Length": "2", "Tus-Resumable": "0.2.2"}, 412, "unsupported_version"),
    ({**TUS}, 400, "bad_header"),
    ({**TUS, "Upload-Length": "-1"}, 400, "bad_header"),
    ({**TUS, "Upload-Length": "1e3"}, 400, "bad_header"),
    ({**TUS, "Upload-Length": "9" * 30}, 400, "bad_header"),
    ({**TUS, "Upload-Defer-Length": "1"}, 400, "bad_header"),
    ({**TUS, "Upload-Length": "2", "Upload-Metadata": "filename ???"}, 400, "bad_header"),
    ({**TUS, "Upload-Length": "2", "Upload-Metadata": "a YQ==,a YQ=="}, 400, "bad_header"),
    ({**TUS, "Upload-Length": "2", "Upload-Metadata": "x" * 5000}, 400, "bad_header"),
    ({**CHUNK, "Upload-Length": "2", "Upload-Checksum": "md5 YQ=="}, 400, "bad_header"),
    ({**CHUNK, "Upload-Length": "2", "Upload-Checksum": "sha256 YQ=="}, 400, "bad_header"),
]


@pytest.mark.parametrize(("headers", "status", "code"), REFUSED_HEADERS)
def test_refused_headers(bench: Bench, headers: dict[str, str], status: int, code: str) -> None:
    """Nothing is made of a request with malformed headers, and the answer names the version."""
    answer = bench.client.post("/v1/uploads", headers=headers)
    check_problem(answer, status, code)
    assert answer.headers["Tus-Resumable"] == "1.0.0"
    assert bench.client.get("/v1/uploads").json()["data"] == []


def test_refused_chunks(bench: Bench) -> None:
    """Another media type is 415, a missing offset 400."""
    path = create(bench, 4)
    wrong_type = bench.client.patch(path, content=b"ab", headers={**TUS, "Upload-Offset": "0"})
    check_problem(wrong_type, 415, "unsupported_media_type")
    check_problem(bench.client.patch(path, content=b"ab", headers=CHUNK), 400, "bad_header")
    assert offset_of(bench, path) == 0


def test_metadata_without_values(bench: Bench) -> None:
    """A key may stand alone, and unknown keys come back as they were sent."""
    path = create(bench, 4, **{"Upload-Metadata": "is_confidential,filename YS5wdA=="})
    assert bench.client.head(path, headers=TUS).headers["Upload-Metadata"] == "is_confidential,filename YS5wdA=="
    assert bench.client.get(path).json()["filename"] == "a.pt"
