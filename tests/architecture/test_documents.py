"""The documents, the Dockerfile and the compose file agree with the code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.core.settings import Settings
from app.demo.decoding import TEN_LINES
from tests.repository import ROOT, block_after

README = (ROOT / "README.md").read_text()
COMPOSE = (ROOT / "docker-compose.yml").read_text()
LINKED = ["README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/security.md", "docs/deploy.md"]


class Loader(yaml.SafeLoader):
    """YAML with Compose's own tags, whose values are kept."""


Loader.add_constructor("!reset", lambda loader, node: loader.construct_sequence(node))


def compose(text: str = COMPOSE) -> dict[str, Any]:
    """The compose file."""
    document = yaml.load(text, Loader)  # noqa: S506 - a safe loader with one more tag
    assert isinstance(document, dict)
    return document


def test_the_readme_lists_every_setting() -> None:
    """Name, default and meaning of each, in the order of the class."""
    rows = [
        f"| `CNET_{name.upper()}` | {f'`{field.default}`' if field.default != '' else ''} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]

    assert rows == re.findall(r"^\| `CNET_.*$", README, re.MULTILINE)


def test_the_readme_prints_the_decoder_that_the_demo_runs() -> None:
    """Ten lines, the same."""
    assert block_after("the decoder", "python") == TEN_LINES
    assert len(TEN_LINES.splitlines()) == 10


def test_the_readme_names_commands_that_exist() -> None:
    """Each ``cnet COMMAND`` in a block, and each make target."""
    help_text = subprocess.run(
        [sys.executable, "-m", "app.cli", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    plain = "".join(block for language, block in blocks if not language)
    commands = set(re.findall(r"^cnet (\w+)", plain, re.MULTILINE))

    assert {"compress", "submit", "download", "keys"} <= commands
    for command in commands:
        assert re.search(rf"│ {command} ", help_text), command
    for target in re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE):
        assert target in targets, target


@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", "docs/glossary.md", "docs/guide.md", "docs/security.md", "docs/deploy.md"],
)
def test_documents_name_files_that_exist(document: str) -> None:
    """Paths in backquotes that have a folder and a known suffix, or end in a slash."""
    text = (ROOT / document).read_text()
    for path in re.findall(r"`((?:[\w.-]+/)+|(?:[\w.-]+/)+[\w.-]+\.(?:py|yml|txt|md))`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/security.md", "docs/deploy.md"]
)
def test_links_between_documents_lead_to_files(document: str) -> None:
    """Relative ones; others are not looked at."""
    path = ROOT / document
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_the_glossary_defines_each_term_once() -> None:
    """The terms that names and messages rely on are among them."""
    terms = re.findall(r"^\*\*`?([^*`]+)`?\*\*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)

    assert len(terms) == len(set(terms))
    assert {
        *("checkpoint", "state dict", "tensor", "weight", "compressible", "sparsity", "mask", "label", "centroid"),
        *("codebook", "grid", "trellis", "rate", "distortion", "epoch", "phase", "point", "bundle", "manifest"),
        *("member", "segment", "chunk", "lease", "attempt", "owner", "compression ratio", "Lagrange multiplier"),
    } <= set(terms)


def test_the_compose_file_has_all_services() -> None:
    """Each with a way to tell that it is well, but the one that ends."""
    services = compose()["services"]

    assert set(services) == {"postgres", "valkey", "migrate", "api", "worker"}
    assert services["migrate"]["command"] == ["cnet", "db", "upgrade"]
    for name in ("postgres", "valkey", "api", "worker"):
        assert services[name]["healthcheck"]["test"], name
    device = services["worker"]["deploy"]["resources"]["reservations"]["devices"][0]
    assert device["capabilities"] == ["gpu"]


def test_the_compose_file_keeps_state_in_named_volumes() -> None:
    """No folder of the host is mounted."""
    document = compose()

    for service in document["services"].values():
        for mount in service.get("volumes", []):
            assert mount.partition(":")[0] in document["volumes"]


def test_the_compose_file_sets_settings_that_exist() -> None:
    """Every CNET_ variable is a field of the settings."""
    known = {f"CNET_{name.upper()}" for name in Settings.model_fields}

    for name, service in compose()["services"].items():
        ours = {variable for variable in service.get("environment", {}) if variable.startswith("CNET_")}
        assert ours <= known, name


def test_the_compose_file_has_no_password_of_its_own() -> None:
    """Each is required from outside."""
    for line in COMPOSE.splitlines():
        for variable in re.findall(r"\$\{(\w+_PASSWORD)(.*?)\}", line):
            assert variable[1].startswith(":?"), line


def test_the_override_for_cpus_requests_no_gpu() -> None:
    """The list of devices is reset."""
    document = compose((ROOT / "docker-compose.cpu.yml").read_text())

    assert document["services"]["worker"]["deploy"]["resources"]["reservations"]["devices"] == []


def test_the_images_run_as_an_unprivileged_user() -> None:
    """Both targets come from the stage that sets the user."""
    text = (ROOT / "Dockerfile").read_text()

    assert "USER cnet" in text[text.index(" AS base") : text.index(" AS api")]
    for target in ("api", "worker"):
        assert f"FROM base AS {target}" in text
        assert "HEALTHCHECK" in text[text.index(f"FROM base AS {target}") :]


def test_docker_accepts_the_compose_file(tmp_path: Path) -> None:
    """``docker compose config`` reads it, where Docker is installed."""
    docker = shutil.which("docker")
    probe = [docker or "docker", "compose", "version"]
    if docker is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed")
    environment = tmp_path / "env"
    environment.write_text("POSTGRES_PASSWORD=one\nVALKEY_PASSWORD=two\n")

    command = [docker, "compose", "--env-file", str(environment), "config", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
