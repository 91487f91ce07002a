"""Reader of torch files before PyTorch 1.6: a sequence of pickles, then the storages one after another."""

from __future__ import annotations

from functools import partial
from pickle import UnpicklingError
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.errors import CheckpointError
from cnet.formats.base import Document, Limits, Source
from cnet.formats.torch.globals import StorageType, find_global
from cnet.formats.torch.tensor import Storage, itemsize
from cnet.formats.torch.unpickle import ByteReader, SafeUnpickler

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_CUT = "the file ends before its contents do: it was cut off; upload it again"


def read_torch_legacy(source: Source, limits: Limits) -> Document:
    """What ``torch.save`` was given. Any file that is no other format comes here, too.

    Raises:
        CheckpointError: ``whole_module``, ``unsafe_pickle``, ``not_a_state_dict`` for a pickle that torch did not
            write, ``truncated``, ``corrupt``, ``too_many_elements``.
    """
    return _Legacy(source, limits).read()


class _Legacy:
    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.reader = ByteReader(source.mapped, 0, min(source.size, limits.pickle_bytes))
        self.storages: dict[str, tuple[str, int]] = {}  # key to element type and number of elements
        self.places: dict[str, int] = {}  # key to position of its first byte

    def read(self) -> Document:
        self._read_magic()
        try:
            protocol, _system, root, keys = (self._pickle() for _ in range(4))
        except CheckpointError as error:
            if error.code == "truncated" and self.source.size > self.limits.pickle_bytes:
                raise CheckpointError(
                    f"the pickled part of the file has more than {self.limits.pickle_bytes} bytes",
                    code="too_many_elements",
                ) from error
            raise
        if protocol != _PROTOCOL or not isinstance(keys, list):
            raise CheckpointError("the file's beginning is not that of a torch file", code="corrupt")
        self._place(keys)
        return Document("torch", root)

    def _read_magic(self) -> None:
        """The first pickle is a number. What is none at all is no checkpoint of a kind we know."""
        try:
            magic = self._pickle()
        except CheckpointError as error:
            if error.code in ("unsafe_pickle", "whole_module"):
                raise
            if b"\x80\x02\x8a\n".startswith(bytes(self.source.mapped[:4])) or self._begins_with_magic():
                raise CheckpointError(_CUT, code="truncated") from error
            raise CheckpointError(
                "the file is not a checkpoint of a known format (safetensors, torch, npz, onnx)", code="corrupt"
            ) from error
        if magic != _MAGIC:
            raise CheckpointError(
                "this is a plain pickle, not a file of torch.save: save the weights with "
                "torch.save(model.state_dict(), path), or as npz or safetensors",
                code="not_a_state_dict",
            )

    def _begins_with_magic(self) -> bool:
        return bytes(self.source.mapped[:14]) == b"\x80\x02\x8a\n" + _MAGIC.to_bytes(10, "little")

    def _pickle(self) -> Any:
        return SafeUnpickler(self.reader, find_global, self._storage).read_object()

    def _storage(self, pid: Any) -> Storage:
        """The storage of ``("storage", type, key, location, elements, view)``; its bytes come later in the file."""
        tag, kind, key, _location, count, *view = pid
        if tag != "storage" or not isinstance(kind, StorageType) or type(count) is not int or count < 0:
            raise UnpicklingError("a persistent id that is no storage")
        if type(key) is not str or self.storages.setdefault(key, (kind.dtype, count)) != (kind.dtype, count):
            raise UnpicklingError("two storages of one key")
        width = itemsize(kind.dtype)
        whole = Storage(key, kind.dtype, count * width, partial(self._bytes, key))
        if not view or view[0] is None:
            return whole
        _view_key, offset, size = view[0]
        if type(offset) is not int or type(size) is not int or not 0 <= offset <= offset + size <= count:
            raise UnpicklingError("a storage view that reaches beyond its storage")
        return Storage(key, kind.dtype, size * width, whole.read, start=offset * width)

    def _place(self, keys: list[Any]) -> None:
        """Find each storage: 8 bytes with its number of elements, then the elements, in the order of ``keys``."""
        position = self.reader.position
        for key in keys:
            if type(key) is not str or key not in self.storages:
                raise CheckpointError("the file lists a storage that no tensor has: it is damaged", code="corrupt")
            dtype, count = self.storages[key]
            if int.from_bytes(self.source.array(position, 8), "little") != count:
                raise CheckpointError("a storage is not as long as the file states: it is damaged", code="corrupt")
            self.places[key] = position + 8
            position += 8 + count * itemsize(dtype)
        if position > self.source.size:
            raise CheckpointError(_CUT, code="truncated")

    def _bytes(self, key: str) -> npt.NDArray[np.uint8]:
        if key not in self.places:
            raise CheckpointError("the values of a tensor are missing: the file is damaged", code="corrupt")
        dtype, count = self.storages[key]
        return self.source.array(self.places[key], count * itemsize(dtype))
