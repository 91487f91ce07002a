"""Reader of torch files before PyTorch 1.6: a sequence of pickles, then the storages one after another."""

from __future__ import annotations

from functools import partial
from pickle import UnpicklingError
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.formats.checkpoint_format import FORMATS
from cnet.formats.parsing.contents import CheckpointContents, damaged
from cnet.formats.parsing.mapped_file import Limits, MappedFile, truncated
from cnet.formats.parsing.quoting import quoted
from cnet.formats.torch.allowed_names import StorageType, find_global
from cnet.formats.torch.safe_unpickler import ByteReader, SafeUnpickler
from cnet.formats.torch.tensors import TorchStorage, itemsize

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def read_torch_legacy(file: MappedFile, limits: Limits) -> CheckpointContents:
    """What ``torch.save`` was given. Files that no format recognizes are refused here too.

    Raises:
        CheckpointError: ``whole_module``, ``unsafe_pickle``, ``not_a_state_dict`` for a pickle that torch did not
            write, ``truncated``, ``corrupt``, ``too_many_elements``.
    """
    return _LegacyFile(file, limits).read()


class _LegacyFile:
    def __init__(self, file: MappedFile, limits: Limits) -> None:
        self.file = file
        self.limits = limits
        self.reader = ByteReader(file.mapped, 0, min(file.size, limits.pickle_bytes))
        self.storages: dict[str, tuple[str, int]] = {}  # from key to element type and number of elements
        self.positions: dict[str, int] = {}  # from key to the position of the first byte

    def read(self) -> CheckpointContents:
        self._read_magic()
        try:
            protocol, _system, root, keys = (self._pickle() for _ in range(4))
        except CheckpointError as error:
            if error.code == "truncated" and self.file.size > self.limits.pickle_bytes:
                raise CheckpointError(
                    f"the pickled part of the file has more than {self.limits.pickle_bytes} bytes. "
                    "Save only the weights: torch.save(model.state_dict(), path).",
                    code="too_many_elements",
                ) from error
            raise
        if protocol != _PROTOCOL or not isinstance(keys, list):
            raise damaged("the file", "it does not begin as a torch file does")
        self._locate_storages(keys)
        return CheckpointContents(root)

    def _read_magic(self) -> None:
        """Check the first pickle, which is a number. A file whose first pickle cannot be read is of no known format."""
        try:
            magic = self._pickle()
        except CheckpointError as error:
            if error.code in ("unsafe_pickle", "whole_module"):
                raise
            if b"\x80\x02\x8a\n".startswith(bytes(self.file.mapped[:4])) or self._begins_with_magic():
                raise truncated() from error
            raise CheckpointError(
                f"the file is not of a known checkpoint format. Use one of: {', '.join(FORMATS.names())}.",
                code="corrupt",
            ) from error
        if magic != _MAGIC:
            raise CheckpointError(
                "this file is a plain pickle, not a file of torch.save. Save the weights with "
                "torch.save(model.state_dict(), path), or as npz or safetensors.",
                code="not_a_state_dict",
            )

    def _begins_with_magic(self) -> bool:
        return bytes(self.file.mapped[:14]) == b"\x80\x02\x8a\n" + _MAGIC.to_bytes(10, "little")

    def _pickle(self) -> Any:
        return SafeUnpickler(self.reader, find_global, self._storage).read_object()

    def _storage(self, pid: Any) -> TorchStorage:
        """The storage of ``("storage", type, key, location, elements, view)``, whose bytes come later in the file."""
        tag, kind, key, _location, count, *view = pid
        if tag != "storage" or not isinstance(kind, StorageType) or type(count) is not int or count < 0:
            raise UnpicklingError("a persistent id that is not a storage")
        if type(key) is not str or self.storages.setdefault(key, (kind.dtype, count)) != (kind.dtype, count):
            raise UnpicklingError("two storages with the same key")
        width = itemsize(kind.dtype)
        whole = TorchStorage(key, kind.dtype, count * width, partial(self._bytes, key))
        if not view or view[0] is None:
            return whole
        _view_key, offset, size = view[0]
        if type(offset) is not int or type(size) is not int or not 0 <= offset <= offset + size <= count:
            raise UnpicklingError("a storage view that reaches beyond its storage")
        return TorchStorage(key, kind.dtype, size * width, whole.read, start=offset * width)

    def _locate_storages(self, keys: list[Any]) -> None:
        """Find the position of each storage: they follow in the order of ``keys``, each after 8 bytes of length."""
        position = self.reader.position
        for key in keys:
            if type(key) is not str or key not in self.storages:
                raise damaged(f"storage {quoted(key)}", "the file lists it, and no tensor uses it")
            dtype, count = self.storages[key]
            if int.from_bytes(self.file.array(position, 8), "little") != count:
                raise damaged(f"storage {quoted(key)}", f"it does not have the stated {count} elements")
            self.positions[key] = position + 8
            position += 8 + count * itemsize(dtype)
        if position > self.file.size:
            raise truncated()

    def _bytes(self, key: str) -> npt.NDArray[np.uint8]:
        if key not in self.positions:
            raise damaged(f"storage {quoted(key)}", "a tensor uses it, and the file does not list it")
        dtype, count = self.storages[key]
        return self.file.array(self.positions[key], count * itemsize(dtype))
