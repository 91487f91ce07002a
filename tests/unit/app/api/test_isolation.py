"""Nobody reaches what is another owner's: every route of the application, so that a new one cannot be forgotten.

A route whose path has an unknown parameter fails here until an object of its kind is added to ``ann``.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts

from app.core.queue import MemoryQueue
from app.core.settings import Settings
from app.core.uploads import NewUpload, Quota
from app.main import create_app
from tests.api_bench import (
    Bench,
    add_baseline,
    add_checkpoint,
    add_job,
    add_point,
    architecture_weights,
    claim,
    finish,
    small_dataset,
    start,
)
from tests.small_program import small_program

#: Routes that show nothing of an owner.
PUBLIC = {"/openapi.json", "/livez", "/readyz", "/metrics", "/docs", "/login", "/logout", "/static"}
#: Routes below /v1 that show the same to every owner.
COMMON = {"/v1/catalogue", "/v1/workers"}
#: Parameters that name no object, each with a value.
NAMES = {"key": "quantize", "key_id": "key_0"}
#: Beginning of the routes that only admins may use.
ADMINS = "/v1/keys"
#: Beginning of the routes that compare the jobs which a query names.
COMPARISONS = "/v1/compare/"

Route = tuple[str, str]


def routes() -> list[Route]:
    """Method and path of each route of the application."""
    app = create_app(Settings(data_dir=Path("unused")), MemoryQueue())
    found = [(method, str(one.path)) for one in iter_route_contexts(app.routes) for method in one.methods or ()]
    return sorted(found, key=lambda route: (route[1], route[0]))


def parameters(path: str) -> list[str]:
    """The names of the parameters of a path."""
    return [name for name, _ in re.findall(r"\{(\w+)(:\w+)?\}", path)]


PRIVATE = [(method, path) for method, path in routes() if path not in PUBLIC]
API = [(method, path) for method, path in PRIVATE if path.startswith("/v1/")]
PAGES = [(method, path) for method, path in PRIVATE if not path.startswith("/v1/")]
OBJECTS = [(method, path) for method, path in PRIVATE if set(parameters(path)) - set(NAMES) and method != "OPTIONS"]
WRITES = [(method, path) for method, path in PRIVATE if method not in {"GET", "HEAD", "OPTIONS"}]
ADMIN = [(method, path) for method, path in API if path.startswith(ADMINS)]
COMPARE = [(method, path) for method, path in API if path.startswith(COMPARISONS)]
LISTS = [
    (method, path)
    for method, path in API
    if method == "GET" and "{" not in path and path not in COMMON and not path.startswith((ADMINS, COMPARISONS))
]


@dataclass(frozen=True)
class World:
    """A server on which ann has one object of each kind, and the keys of ann and bob."""

    bench: Bench
    ids: dict[str, str]
    keys: dict[str, str]

    def send(self, route: Route, key: str | None, content: bytes = b"", **query: str) -> Any:
        """Send a request that would be valid for ann, with this key: as a bearer token, to pages as a cookie."""
        method, path = route
        secret = self.keys[key] if key else None
        headers = {
            "Tus-Resumable": "1.0.0",
            "Upload-Offset": "0",
            "X-HTTP-Method-Override": "PATCH",
            "Sec-Fetch-Site": "same-origin",
        }
        if path.startswith("/v1/uploads"):
            headers["Content-Type"] = "application/offset+octet-stream"
        if secret and path.startswith("/v1/"):
            headers["Authorization"] = f"Bearer {secret}"
        elif secret:
            headers["Cookie"] = f"cnet_key={secret}"
        send = self.bench.client.request
        return send(method, self.fill(path), headers=headers, params=query, content=content, follow_redirects=False)

    def fill(self, path: str) -> str:
        """A path with the ids of ann's objects."""
        return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: {**self.ids, **NAMES}[match[1]], path)


@dataclass(frozen=True)
class Stored:
    """The data folder of a server that has ended, the ids of ann's objects, and the keys."""

    folder: Path
    ids: dict[str, str]
    keys: dict[str, str]

    @contextmanager
    def started(self, folder: Path) -> Iterator[World]:
        """A server on a copy of the data, in ``folder``."""
        shutil.copytree(self.folder, folder)
        with start(folder) as bench:
            yield World(bench, dict(self.ids), self.keys)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """The data of a server with two owners."""
    folder = tmp_path_factory.mktemp("stored") / "data"
    with start(folder) as bench:
        keys = bench.backend.keys
        secrets = {
            "ann": keys.create("ann")[1],
            "ann-read": keys.create("ann", "read")[1],
            "bob": keys.create("bob")[1],
            "admin": keys.create("operator", "admin")[1],
        }
        return Stored(folder, ann(bench, secrets["ann"]), secrets)


@pytest.fixture(scope="module")
def world(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server with two owners."""
    with stored.started(tmp_path_factory.mktemp("isolation") / "data") as made:
        yield made


def ann(bench: Bench, secret: str) -> dict[str, str]:
    """One object of each kind, by the name of the parameter that has its id."""
    bearer = {"Authorization": f"Bearer {secret}"}

    def made(route: str, status: int, **content: Any) -> str:
        answer = bench.client.post(route, headers=bearer, **content)
        assert answer.status_code == status, answer.text
        return str(answer.json()["id"])

    checkpoint = add_checkpoint(bench, architecture_weights("lenet300_100"), "ann").id
    job = claim(bench, add_job(bench, owner="ann"))
    add_baseline(bench, job)
    add_point(bench, job)
    finish(bench, job, selected=0)
    upload = bench.backend.uploads.create(NewUpload("ann", None, None, "", 4), Quota(0, 10))
    grid = {"spec": {"checkpoint": checkpoint}, "grid": {"prune.sparsity": [0.5, 0.9]}}
    return {
        "checkpoint_id": checkpoint,
        "dataset_id": made("/v1/datasets", 201, content=small_dataset()),
        "program_id": made("/v1/programs", 201, content=small_program()),
        "job_id": job.id,
        "study_id": made("/v1/studies", 202, json=grid),
        "upload_id": upload.id,
        "digest": f"sha256:{hashlib.sha256(small_dataset()).hexdigest()}",
    }


@pytest.mark.parametrize("route", API, ids=" ".join)
def test_without_a_key_every_route_is_401(world: World, route: Route) -> None:
    """Before anything else is looked at."""
    assert world.send(route, None).status_code == 401


@pytest.mark.parametrize("route", PAGES, ids=" ".join)
def test_without_a_key_every_page_leads_to_the_login(world: World, route: Route) -> None:
    """A page asks for a key, and shows nothing before."""
    answer = world.send(route, None)
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/login")


@pytest.mark.parametrize("route", OBJECTS, ids=" ".join)
def test_another_owners_object_is_404(world: World, route: Route) -> None:
    """As one that does not exist, for each route that names one. The same request is no 404 for its owner."""
    answer = world.send(route, "bob")
    assert answer.status_code == 404
    assert "ann" not in answer.text


@pytest.mark.parametrize("route", [route for route in OBJECTS if route not in WRITES], ids=" ".join)
def test_the_owner_reads_their_own_object(world: World, route: Route) -> None:
    """Otherwise the test above would prove nothing."""
    assert world.send(route, "ann").status_code in {200, 204}


@pytest.mark.parametrize("route", WRITES, ids=" ".join)
def test_a_key_that_may_read_changes_nothing(world: World, route: Route) -> None:
    """403 for every method that changes something."""
    assert world.send(route, "ann-read").status_code == 403


@pytest.mark.parametrize("route", LISTS, ids=" ".join)
def test_lists_have_ones_own_objects_alone(world: World, route: Route) -> None:
    """The other owner's list is empty, and ann's is not."""
    assert world.send(route, "bob").json()["data"] == []
    assert world.send(route, "ann").json()["data"] != []


@pytest.mark.parametrize("route", [route for route in OBJECTS if route not in WRITES], ids=" ".join)
def test_an_administrator_reads_objects_of_other_owners(world: World, route: Route) -> None:
    """A key with the scope admin reads the objects of all owners."""
    assert world.send(route, "admin").status_code in {200, 204}


@pytest.mark.parametrize("route", LISTS, ids=" ".join)
def test_an_administrator_lists_the_objects_of_all_owners(world: World, route: Route) -> None:
    """Each with its owner, and with ``owner`` those of one. Whose objects a key may not see, it finds none of."""
    assert "ann" in {row["owner"] for row in world.send(route, "admin").json()["data"]}
    assert {row["owner"] for row in world.send(route, "admin", owner="ann").json()["data"]} == {"ann"}
    assert world.send(route, "admin", owner="bob").json()["data"] == []
    assert world.send(route, "bob", owner="ann").json()["data"] == []
    assert world.send(route, "ann", owner="ann").json()["data"] != []


@pytest.mark.parametrize("route", [route for route in OBJECTS if route in WRITES], ids=" ".join)
def test_an_administrator_changes_objects_of_other_owners(route: Route, stored: Stored, tmp_path: Path) -> None:
    """On a server of its own, since these requests remove or change an object."""
    with stored.started(tmp_path / "data") as world:
        make_ready(world, route)
        answer = world.send(route, "admin", content=b"data" if route[1].startswith("/v1/uploads") else b"")
        assert answer.status_code in {202, 204, 303}, answer.text


def make_ready(world: World, route: Route) -> None:
    """Bring ann's objects into the state that a route expects."""
    _, path = route
    bearer = {"Authorization": f"Bearer {world.keys['ann']}"}
    if "checkpoint_id" in path or path.endswith("{study_id}/retry"):
        world.bench.client.post(f"/v1/studies/{world.ids['study_id']}/cancel", headers=bearer)
    if path.endswith(("{job_id}/cancel", "{job_id}/retry")):
        spec = {"checkpoint": world.ids["checkpoint_id"]}
        world.ids["job_id"] = world.bench.client.post("/v1/jobs", json=spec, headers=bearer).json()["id"]
    if path.endswith("{job_id}/retry"):
        world.bench.client.post(f"/v1/jobs/{world.ids['job_id']}/cancel", headers=bearer)


def test_an_administrator_runs_a_job_again_for_its_owner(stored: Stored, tmp_path: Path) -> None:
    """The new job belongs to the owner of the old one, who can see it."""
    route = ("POST", "/v1/jobs/{job_id}/retry")
    with stored.started(tmp_path / "data") as world:
        make_ready(world, route)
        made = world.send(route, "admin").json()
        world.ids["job_id"] = made["id"]
        assert made["owner"] == "ann"
        assert world.send(("GET", "/v1/jobs/{job_id}"), "ann").status_code == 200


def test_an_administrator_uses_another_owners_objects(world: World) -> None:
    """What is made of them is the administrator's."""
    bearer = {"Authorization": f"Bearer {world.keys['admin']}"}
    digest = hashlib.sha256(small_dataset()).hexdigest()
    spec = {"checkpoint": world.ids["checkpoint_id"]}
    for path, body in (("/v1/jobs", spec), ("/v1/datasets", {"sha256": digest})):
        answer = world.bench.client.post(path, json=body, headers=bearer)
        assert answer.status_code in {201, 202}
        assert answer.json()["owner"] == "operator"


@pytest.mark.parametrize("route", ADMIN, ids=" ".join)
def test_the_routes_of_admins_are_403_for_others(world: World, route: Route) -> None:
    """Whatever they may do with their own objects."""
    assert world.send(route, "bob").status_code == 403


@pytest.mark.parametrize("route", COMPARE, ids=" ".join)
def test_another_owners_job_cannot_be_compared(world: World, route: Route) -> None:
    """As one that does not exist, while its owner sees it."""
    assert world.send(route, "bob", job=world.ids["job_id"]).status_code == 404
    assert world.send(route, "ann", job=world.ids["job_id"]).status_code == 200


def test_another_owners_objects_cannot_be_used(world: World) -> None:
    """A job, a study and a new object that name them are refused as if they did not exist."""
    bearer = {"Authorization": f"Bearer {world.keys['bob']}"}
    ids = world.ids
    spec = {"checkpoint": ids["checkpoint_id"]}
    digest = hashlib.sha256(small_dataset()).hexdigest()
    assert world.bench.client.head(f"/v1/blobs/sha256:{digest}", headers=bearer).status_code == 404
    answer = world.bench.client.post("/v1/datasets", json={"sha256": digest}, headers=bearer)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_digest")
    bodies: list[tuple[str, Any]] = [
        ("/v1/jobs", spec),
        ("/v1/jobs:validate", spec),
        ("/v1/jobs", {"architecture": {"program": ids["program_id"]}, "dataset": "digits"}),
        ("/v1/jobs", {"architecture": "lenet300_100", "dataset": ids["dataset_id"]}),
        ("/v1/studies", {"spec": spec, "grid": {"prune.sparsity": [0.5]}}),
        *((f"/v1/{kind}", {"upload": ids["upload_id"]}) for kind in ("checkpoints", "datasets", "programs")),
    ]
    for path, body in bodies:
        answer = world.bench.client.post(path, json=body, headers=bearer)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (path, body)
