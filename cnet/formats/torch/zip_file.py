"""Reader of torch files since PyTorch 1.6: a zip archive with a pickle and one record for each storage."""

from __future__ import annotations

from functools import partial
from pickle import UnpicklingError
from typing import Any

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import CheckpointContents, damaged
from cnet.formats.parsing.mapped_file import Limits
from cnet.formats.parsing.quoting import quoted
from cnet.formats.parsing.zip_archive import ZipArchive
from cnet.formats.torch.allowed_names import StorageType, find_global
from cnet.formats.torch.safe_unpickler import ByteReader, SafeUnpickler
from cnet.formats.torch.tensors import TorchStorage, itemsize

_PICKLE = "data.pkl"


def read_torch_zip(archive: ZipArchive, limits: Limits) -> CheckpointContents:
    """What ``torch.save`` was given.

    Raises:
        CheckpointError: ``torchscript``, ``whole_module``, ``unsafe_pickle``, ``not_a_state_dict`` for other archives,
            ``truncated``, ``corrupt``, ``too_many_elements``.
    """
    prefix = _prefix(archive)
    name = f"{prefix}{_PICKLE}"
    if archive.size(name) > limits.pickle_bytes:
        raise CheckpointError(
            f"the pickled part of the file has {archive.size(name)} bytes, and at most {limits.pickle_bytes} are "
            "accepted. Save only the weights: torch.save(model.state_dict(), path).",
            code="too_many_elements",
        )
    pickled = bytes(archive.read(name))
    load_storage = partial(_storage, archive, prefix, _big_endian(archive, prefix))
    reader = ByteReader(pickled, 0, len(pickled))
    return CheckpointContents(SafeUnpickler(reader, find_global, load_storage).read_object())


def _prefix(archive: ZipArchive) -> str:
    """The folder in the archive, with its slash. Archives of other kinds are refused, with a message for each kind."""
    names = archive.names
    if any(name.endswith("/constants.pkl") or "/code/" in name for name in names):
        raise CheckpointError(
            "this file is a TorchScript archive, a program with its weights. Save only the weights: "
            "torch.save(torch.jit.load(path).state_dict(), path).",
            code="torchscript",
        )
    if any(name.endswith("archive_format") or name.startswith("models/") for name in names):
        raise CheckpointError(
            "this file is a torch.export program, not a checkpoint. Upload it as a program.", code="not_a_state_dict"
        )
    found = [name for name in names if name.rpartition("/")[2] == _PICKLE and name.count("/") <= 1]
    if len(found) != 1:
        raise CheckpointError(
            "this archive is neither a torch file nor an npz. Use the checkpoint itself.", code="not_a_state_dict"
        )
    return found[0].removesuffix(_PICKLE)


def _big_endian(archive: ZipArchive, prefix: str) -> bool:
    """Whether the storages are big-endian. Files before PyTorch 2.1 do not state it and are little-endian."""
    name = f"{prefix}byteorder"
    order = archive.head(name, 8) if name in archive else b"little"
    if order not in (b"little", b"big"):
        raise damaged("the file", f"it states the byte order {order!r}")
    return order == b"big"


def _storage(archive: ZipArchive, prefix: str, big_endian: bool, pid: Any) -> TorchStorage:
    """The storage of a persistent id ``("storage", type, key, location, elements)``."""
    tag, kind, key, _location, count = pid
    if tag != "storage" or not isinstance(kind, StorageType) or type(key) is not str or type(count) is not int:
        raise UnpicklingError("a persistent id that is not a storage")
    name = f"{prefix}data/{key}"
    nbytes = count * itemsize(kind.dtype)
    if not 0 <= nbytes <= archive.size(name):
        raise damaged(f"storage {quoted(key)}", f"it has {archive.size(name)} bytes instead of {nbytes}")
    return TorchStorage(key, kind.dtype, nbytes, partial(archive.read, name), big_endian=big_endian)
