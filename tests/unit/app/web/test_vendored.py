"""Vendored files: what they are, that nobody has changed them, and that each has its licence beside it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from app.web.static_files import FOLDER

VENDOR = FOLDER / "vendor"
PACKAGES: list[dict[str, Any]] = json.loads((VENDOR / "packages.json").read_text())


def test_every_vendored_file_is_listed_with_its_digest() -> None:
    """The SHA-256 is recomputed; there is no other file."""
    listed = {row["file"]: row["sha256"] for package in PACKAGES for row in package["files"]}
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "packages.json"
    }

    assert found == listed


def test_every_package_names_its_origin_and_has_its_licence() -> None:
    """Name, version and digest of the package of npm that the files were taken from."""
    for package in PACKAGES:
        assert package["version"][0].isdigit()
        assert package["integrity"].startswith("sha512-")
        assert package["license"] in {"0BSD", "MIT", "Apache-2.0"}
        assert any(row["from"] == "LICENSE" for row in package["files"]), package["package"]


def test_no_vendored_script_loads_from_another_host() -> None:
    """The policy forbids it too."""
    for path in VENDOR.rglob("*.js"):
        text = path.read_text()
        assert "importScripts(" not in text
        assert "document.write(" not in text
