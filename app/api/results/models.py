"""Decoded models, made on request and kept for a while."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from app.api.http.errors import UnprocessableError
from app.api.request_folder import request_folder, require_free_space
from cnet.bundle import open_bundle
from cnet.bundle.unpack import unpack
from cnet.errors import CnetError
from cnet.files import move_into_place
from cnet.formats import writable_formats

_KEPT = 4


def model_formats() -> tuple[str, ...]:
    """Names of the formats of decoded models: all that can be written without PyTorch, which the API does not load."""
    return writable_formats(without="torch")


class Models:
    """A folder with the last few decoded models, so that HEAD, ranges and retries do not decode again.

    A file that is open stays readable when it is removed.
    """

    def __init__(self, folder: Path, reserve: int) -> None:
        self._folder = folder
        self._reserve = reserve

    def open(self, bundle: Path, digest: str, model_format: str) -> tuple[BinaryIO, int]:
        """The decoded model, open to read, and its size.

        Raises:
            BundleError: the stored bundle is damaged.
            StorageFullError: there is no space to decode it.
            UnprocessableError: (``unsupported_format``) it is too large for an ONNX file.
        """
        path = self._folder / f"{digest}.{model_format}"
        file = _opened(path) or self._decode(bundle, path, model_format)
        return file, os.fstat(file.fileno()).st_size

    def _decode(self, bundle: Path, path: Path, model_format: str) -> BinaryIO:
        """In a folder of its own: others may be decoding the same bundle, and may remove it when it is in place."""
        self._folder.mkdir(parents=True, exist_ok=True)
        opened = open_bundle(bundle)
        require_free_space(self._folder, opened.raw_bytes, self._reserve)
        with request_folder(self._folder.parent) as folder:
            made = folder / path.name
            try:
                unpack(opened, made, model_format)
            except CnetError as error:
                if error.code != "too_large":
                    raise
                raise UnprocessableError(error.detail, code="unsupported_format") from error
            file = made.open("rb")
            move_into_place(made, path)
        self._forget()
        return file

    def _forget(self) -> None:
        """Remove all but the last few."""
        files = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # removed by another request meanwhile
                files.append((path.stat().st_mtime, path))
        for _, path in sorted(files)[:-_KEPT]:
            path.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO | None:
    """The file, used now; None where it is not there."""
    try:
        os.utime(path)
        return path.open("rb")
    except FileNotFoundError:
        return None
