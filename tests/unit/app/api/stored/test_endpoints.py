"""A file that is stored already is named by its digest and not sent again."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from safetensors.numpy import save

from app.core.clock import utc_now
from app.core.db.tables import checkpoints
from tests.api_bench import Bench, npz, small_dataset, small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem
from tests.unit.app.api.uploads.test_endpoints import append, create, expire


def sha256(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def is_stored(bench: Bench, data: bytes) -> bool:
    """What the server says of a file."""
    return bool(bench.client.head(f"/v1/blobs/sha256:{sha256(data)}").status_code == 204)


def upload(bench: Bench, data: bytes, kind: str = "checkpoints", **query: str) -> dict[str, Any]:
    """An object of a file that is sent."""
    answer = bench.client.post(f"/v1/{kind}", params=query, content=data)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def named(bench: Bench, data: bytes, kind: str = "checkpoints", **options: Any) -> Any:
    """The answer to a request that names a file by its digest."""
    return bench.client.post(f"/v1/{kind}", json={"sha256": sha256(data), **options})


def test_the_same_file_again_is_another_object(bench: Bench) -> None:
    """With its own id and name; the first one can be deleted, the second one stays."""
    data = small_weights()
    assert not is_stored(bench, data)
    first = upload(bench, data, filename="a.npz")

    assert is_stored(bench, data)
    answer = named(bench, data, filename="b.npz")

    assert answer.status_code == 201, answer.text
    again = answer.json()
    assert again["id"] != first["id"]
    assert again["filename"] == "b.npz"
    rest = {"id", "filename", "created_at"}
    assert {k: v for k, v in again.items() if k not in rest} == {k: v for k, v in first.items() if k not in rest}
    assert bench.client.delete(f"/v1/checkpoints/{first['id']}").status_code == 204
    assert bench.client.get(f"/v1/checkpoints/{again['id']}/content").status_code == 200


def test_a_deleted_file_must_be_sent(bench: Bench) -> None:
    """And an expired one, as the server may have removed it."""
    data = small_weights()
    made = upload(bench, data)
    bench.client.delete(f"/v1/checkpoints/{made['id']}")
    assert not is_stored(bench, data)
    check_problem(named(bench, data), 404, "unknown_digest")


def test_other_options_need_the_file(bench: Bench) -> None:
    """A file that was rewritten with other options is not there any more."""
    data = npz(**{"module.w": np.ones((2, 2), np.float32), "module.b": np.ones(2, np.float32)})
    upload(bench, data)
    check_problem(named(bench, data, strip_prefix=False), 404, "unknown_digest")
    check_problem(named(bench, data, kind="datasets"), 404, "unknown_digest")


def test_a_file_that_was_kept_as_it_is_can_be_read_with_other_options(bench: Bench) -> None:
    """A regular safetensors file is its own canonical form."""
    data = save({"model.w": np.ones((2, 2), np.float32), "model.b": np.ones(2, np.float32)})
    upload(bench, data)
    answer = named(bench, data, strip_prefix=False)
    assert answer.status_code == 201, answer.text


def test_a_downloaded_checkpoint_is_known(bench: Bench) -> None:
    """What the server sent need not be sent back."""
    made = upload(bench, small_weights())
    content = bench.client.get(f"/v1/checkpoints/{made['id']}/content").content
    assert is_stored(bench, content)
    answer = named(bench, content)
    assert (answer.status_code, answer.json()["sha256"]) == (201, sha256(content))


def test_a_complete_upload_is_known(bench: Bench) -> None:
    """Until it expires; an incomplete one is not."""
    data = small_dataset()
    path = create(bench, len(data))
    append(bench, path, 0, data[:9])
    assert not is_stored(bench, data)
    append(bench, path, 9, data[9:])
    assert is_stored(bench, data)
    assert named(bench, data, kind="datasets").status_code == 201
    expire(bench, path)
    bench.backend.uploads.expire()
    assert is_stored(bench, data)  # as a data set


def test_objects_of_an_earlier_release_are_not_reused(bench: Bench) -> None:
    """Nobody knows with which options they were read."""
    data = small_weights()
    made = upload(bench, data)
    with bench.backend.database.write() as connection:
        connection.execute(checkpoints.update().where(checkpoints.c.id == made["id"]).values(options=None))
    check_problem(named(bench, data), 404, "unknown_digest")


def test_expired_objects_do_not_count(begin: Start) -> None:
    """The server may remove their content at any time."""
    bench = begin(retention_days=1)
    data = small_weights()
    made = upload(bench, data)
    with bench.backend.database.write() as connection:
        connection.execute(checkpoints.update().where(checkpoints.c.id == made["id"]).values(expires_at=utc_now()))
    assert not is_stored(bench, data)
    check_problem(named(bench, data), 404, "unknown_digest")
