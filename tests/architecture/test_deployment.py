"""The files for deployments agree with the settings, with each other, and with the schemas of Kubernetes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.core.settings import Settings
from tests.repository import ROOT

KUBERNETES = "1.34"
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
WORKERS = yaml.safe_load((ROOT / "docker-compose.worker.yml").read_text())
CADDYFILE = ROOT / "deploy" / "caddy" / "Caddyfile"
TEXTS = [*MANIFESTS, CADDYFILE, ROOT / "docker-compose.worker.yml", ROOT / "docker-compose.yml", ROOT / "Dockerfile"]
NO_SETTING = {"CNET_DOMAIN", "CNET_UPSTREAM", "CNET_API_KEY", "CNET_SERVER"}
"""Variables of the proxy and of the client."""


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the manifests with its file."""
    for path in MANIFESTS:
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] != "Kustomization":
                yield path.name, document


def pods() -> list[tuple[str, dict[str, Any]]]:
    """The pods that the manifests describe, by the name of what makes them."""
    return [
        (o["metadata"]["name"], o["spec"]["template"]["spec"]) for _, o in objects() if "template" in o.get("spec", {})
    ]


@pytest.mark.parametrize("path", [*TEXTS, ROOT / "docs" / "deploy.md"], ids=lambda path: path.name)
def test_every_variable_is_a_setting(path: Path) -> None:
    """Of those that begin with ``CNET_``."""
    known = {f"CNET_{name.upper()}" for name in Settings.model_fields} | NO_SETTING

    assert set(re.findall(r"\bCNET_[A-Z_]*[A-Z]\b", path.read_text())) <= known


@pytest.mark.parametrize(
    "document",
    [document for _, document in objects()],
    ids=[f"{document['kind']}-{document['metadata']['name']}" for _, document in objects()],
)
def test_kubernetes_accepts_the_manifests(document: dict[str, Any]) -> None:
    """By its JSON schemas, in which unknown fields are errors."""
    assert kubernetes_validate.validate(document, KUBERNETES, strict=True) == KUBERNETES


def test_kustomize_names_every_manifest() -> None:
    """Each file but its own."""
    listed = yaml.safe_load((ROOT / "deploy/kubernetes/kustomization.yaml").read_text())["resources"]

    assert sorted(listed) == [path.name for path in MANIFESTS if path.name != "kustomization.yaml"]


def test_what_the_manifests_set_is_valid() -> None:
    """The configuration, and the variables of each container, can be read as settings."""
    shared = next(document["data"] for _, document in objects() if document["kind"] == "ConfigMap")
    for _, pod in pods():
        for container in pod["containers"]:
            own = {row["name"]: row["value"] for row in container.get("env", [])}
            given = {name.removeprefix("CNET_").lower(): value for name, value in {**shared, **own}.items()}
            assert Settings(**given).blobs_url == shared["CNET_BLOBS_URL"]


@pytest.mark.parametrize("pod", [pod for _, pod in pods()], ids=[name for name, _ in pods()])
def test_pods_are_restricted(pod: dict[str, Any]) -> None:
    """No root, no capability, nothing writable but what is mounted, no token of the cluster, a limit on memory."""
    user = re.search(r"--uid (\d+)", (ROOT / "Dockerfile").read_text())
    assert user
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == int(user[1])
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["limits"]["memory"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_selectors_find_their_pods() -> None:
    """Those of deployments, of the service and of the disruption budget."""
    labels = [
        document["spec"]["template"]["metadata"]["labels"]
        for _, document in objects()
        if "template" in document.get("spec", {})
    ]
    for _, document in objects():
        selector = document.get("spec", {}).get("selector")
        if selector:
            wanted = selector.get("matchLabels", selector)
            assert len([found for found in labels if wanted.items() <= found.items()]) == 1, document["metadata"][
                "name"
            ]


def test_every_worker_has_a_gpu_of_its_own() -> None:
    """By device ids in the compose file, by the device plugin in Kubernetes."""
    found = []
    for name, service in WORKERS["services"].items():
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert "replicas" not in service["deploy"], name
        assert len(device["device_ids"]) == 1
        found += device["device_ids"]
        assert service["volumes"] == [f"data-{device['device_ids'][0]}:/data"]
    assert found == [str(number) for number in range(len(found))]

    gpu = next(pod for name, pod in pods() if name == "cnet-worker-gpu")
    assert gpu["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1


@pytest.mark.parametrize(("profile", "count"), [("2", 2), ("4", 4), ("8", 8)])
def test_profiles_start_one_worker_for_each_gpu(profile: str, count: int) -> None:
    """Without a profile there is one."""
    services = WORKERS["services"].values()
    started = [each for each in services if profile in each.get("profiles", [profile])]

    assert len(started) == count
    assert len([each for each in services if "profiles" not in each]) == 1


def test_workers_on_other_hosts_share_no_folder() -> None:
    """They are told where database, broker and store are, and no password has a default."""
    text = (ROOT / "docker-compose.worker.yml").read_text()
    for name in (
        "CNET_DATABASE_URL",
        "CNET_BROKER_URL",
        "CNET_BLOBS_URL",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ):
        assert f"{name}: ${{{name}:?" in text


def test_probes_ask_routes_that_exist() -> None:
    """Whether the process lives by one that needs no database, and whether it is ready by the other."""
    api = next(pod for name, pod in pods() if name == "cnet-api")["containers"][0]

    assert api["livenessProbe"]["httpGet"]["path"] == api["startupProbe"]["httpGet"]["path"] == "/livez"
    assert api["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_caddy_accepts_the_example() -> None:
    """In its own form."""
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("caddy is not installed")
    for command in (["validate", "--config", str(CADDYFILE), "--adapter", "caddyfile"], ["fmt", str(CADDYFILE)]):
        done = subprocess.run([caddy, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout == CADDYFILE.read_text()
