"""Static files: our style sheets and scripts, and vendored ones. Addresses name a version, so browsers keep files."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.figures.svg import STYLE

FOLDER = Path(__file__).parent / "static"
_FOLDERS = (FOLDER, STYLE.parent)
_VERSION_DIGITS = 12


@cache
def static_version(name: str) -> str:
    """The first digits of the SHA-256 of a static file, for its address.

    Args:
        name: path of the file below ``static``.
    """
    path = next(folder / name for folder in _FOLDERS if (folder / name).is_file())
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_VERSION_DIGITS]


def static_mount() -> Mount:
    """The route of all static files, compressed where the browser accepts that."""
    return Mount("/static", _VersionedFiles(), name="static", middleware=[Middleware(GZipMiddleware)])


class _VersionedFiles(StaticFiles):
    """Static files that browsers keep for a year where the address names their version, and ask for otherwise."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)
        self.all_directories = list(_FOLDERS)

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        versioned = scope["query_string"].startswith(b"v=")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if versioned else "no-cache"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response
