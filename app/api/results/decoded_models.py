"""Decoded models: made when they are requested, and the last few of them cached."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from app.api.http.errors import UnprocessableError
from app.api.request_folder import request_folder
from app.core.blobs import BlobStore
from app.core.disk import require_free_space
from cnet.bundle import Bundle, open_bundle
from cnet.bundle.unpack import unpack, unpack_formats
from cnet.errors import CnetError
from cnet.files import move_into_place

_MAX_CACHED = 4


def model_formats() -> tuple[str, ...]:
    """Names of the formats of decoded models: all that can be written without PyTorch, which the API does not load."""
    return unpack_formats(without="torch")


class DecodedModels:
    """A folder with the last few decoded models, so that HEAD, ranges and retries do not decode again.

    Args:
        folder: where they are stored; created where it is missing.
        reserve: bytes of disk space that must stay free.
        write: decodes a bundle to a file in one of ``model_formats()``.
    """

    def __init__(self, folder: Path, reserve: int, write: Callable[[Bundle, Path, str], object] = unpack) -> None:
        self._folder = folder
        self._reserve = reserve
        self._write = write

    def open(self, blobs: BlobStore, digest: str, model_format: str) -> tuple[BinaryIO, int]:
        """Return the decoded model of a stored bundle, open for reading, and its size in bytes.

        Raises:
            NotFoundError, DamagedBlobError: the bundle was removed, or its bytes have changed.
            BundleError: the stored bundle is damaged.
            StorageFullError: there is no space to decode it.
            UnprocessableError: (``unsupported_format``) the model is too large for an ONNX file, or has tensors that
                the format cannot hold.
        """
        path = self._folder / f"{digest}.{model_format}"
        file = _opened(path)
        if file is None:
            with blobs.lend(digest) as bundle:
                file = self._decode(bundle, path, model_format)
        return file, os.fstat(file.fileno()).st_size

    def _decode(self, bundle: Path, path: Path, model_format: str) -> BinaryIO:
        """Decode in a separate folder, because another request may decode the same bundle at the same time."""
        self._folder.mkdir(parents=True, exist_ok=True)
        opened = open_bundle(bundle)
        require_free_space(self._folder, opened.raw_bytes, self._reserve)
        with request_folder(self._folder.parent) as folder:
            made = folder / path.name
            try:
                self._write(opened, made, model_format)
            except CnetError as error:
                if error.code not in ("too_large", "unwritable"):
                    raise
                raise UnprocessableError(error.detail, code="unsupported_format") from error
            file = made.open("rb")
            move_into_place(made, path)
        self._delete_oldest()
        return file

    def _delete_oldest(self) -> None:
        """Delete all but the last few. A file that is open stays readable."""
        files = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another request has deleted it
                files.append((path.stat().st_mtime, path))
        for _, path in sorted(files)[:-_MAX_CACHED]:
            path.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO | None:
    """Open a cached file and set its modification time to now; None where it does not exist."""
    try:
        os.utime(path)
        return path.open("rb")
    except FileNotFoundError:
        return None
