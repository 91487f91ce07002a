"""The bundle: one compressed net in one .npz file. This text is its specification, format versions 1 and 2.

**The file** is a zip archive that ``numpy.load(file, allow_pickle=False)`` reads, with up to five members in this
order, each a version 1.0 .npy file of one dimension, little-endian, deflated:

    mask.npy labels.npy centroids.npy   what the encoder made of w_net (``cnet.encode``); an encoder may leave some out
    other.npy                           uint8: the bytes of all other tensors in C order, one after the other, in the
                                        manifest's order; left out where there are none
    manifest.npy                        uint8: UTF-8 JSON

**The manifest** is one object:

    format, version   "cnet-bundle", 1 or 2; 2 where ``other`` is packed
    encoder, header   the encoder's name, and what it needs to decode
    tensors           {"names", "dtypes", "shapes", "roles"}: four lists with one entry a tensor, in the net's order.
                      A dtype is named as in PyTorch. Roles: "compressible" (a part of w_net), "other" (in ``other``),
                      "tied" (the same values as the first tensor of its group). The position of a tensor follows from
                      the order: w_net is the compressible tensors, flattened in C order, one after the other.
    tied              groups of indexes into the lists; the first index of each is the tensor that holds the values
    members           for each member but the manifest: {"descr", "length", "sha256"}, the NumPy type, the number of
                      elements, and the first 32 hex digits of the sha256 of its deflated bytes
    metrics, extra    whatever the writer wants kept, or null
    other             version 2 only: {"kind", "error"}: how ``other`` is packed (``cnet.encode._others``), and how far
                      its values are from the original ones at most

    products          only where there are any: tensors that are stored as two factors, {"name", "dtype", "left",
                      "right"}, the last two being places in the lists of ``tensors``, which hold the factors and not
                      the product: ``left`` and ``right`` lie side by side, are compressible, and not tied

**Decoding.** The encoder gives w_net in float32 (float64 for a float64 net). Each compressible tensor is its part of
w_net rounded to its own type, to nearest, ties to even. All other tensors are their bytes. A product takes the place of
its factors in the net's order; it is ``left`` times ``right``, exactly as ``cnet.products`` has it.

**Every byte counts.** Zip records are those of PKWARE's APPNOTE 6.3 with all that could vary fixed: names as above,
version 20, no flags, method 8, date 1980-01-01 00:00, no attributes, members without gaps from offset 0, the directory
after them, and zip64 fields (version 45) only where a size or offset reaches 2^31. The .npy header is padded with
spaces to a multiple of 64 bytes. The comment of the end record is the seal: 64 hex digits of the sha256 of the
manifest's deflated bytes, then all local headers in order, then directory and end record up to the comment. A reader
builds all records anew and compares, so that with the digests in the manifest no byte of the file is free. The file
holds no time, host or path: the same net and symbols give the same bytes.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.bundle_manifest import Manifest, named_products
from cnet.bundle_write import BundleSizes, write_bundle
from cnet.encode import ENCODERS
from cnet.encode._others import unpack_others
from cnet.errors import BundleError, CnetError, SpecError
from cnet.products import expanded, multiplied
from cnet.sealed_npz import Reader, Source
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

__all__ = ["Bundle", "BundleSizes", "open_bundle", "write_bundle"]

_FOREIGN = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)


def open_bundle(source: Source) -> Bundle:
    """A bundle to read: a mapping of tensor names to arrays, decoded when they are asked for.

    Args:
        source: a path, the file's bytes, or a binary file that can seek (it must stay open and begins at its offset 0).

    Raises:
        BundleError: the file is damaged, no bundle, or of another format version. Records, directory and manifest
            are checked here, each array when it is first read; ``Bundle.verify`` checks all at once.
        OSError: the file cannot be read at all.
    """
    reader = Reader(source)
    manifest = Manifest.parse(reader.manifest)
    if set(reader.entries) != {*manifest.members, "manifest"}:
        raise BundleError("the bundle contradicts itself: its members are not those of the manifest")
    return Bundle(reader, manifest)


class Bundle(Mapping[str, npt.NDArray[np.generic]]):
    """What ``open_bundle`` returns.

    ``bundle[name]`` is a new array of the tensor's shape and type; bfloat16 and float8, which NumPy has not, are
    float32 with the same values. Tied tensors are there under each of their names. Made by ``open_bundle``.
    """

    def __init__(self, reader: Reader, manifest: Manifest) -> None:
        self._reader = reader
        self._parsed = manifest
        columns = manifest.tensors
        self._rows = dict(zip(columns.names, zip(columns.dtypes, columns.shapes, strict=True), strict=True))
        self._compressible = frozenset(
            name for name, role in zip(columns.names, columns.roles, strict=True) if role == "compressible"
        )
        self._first = {columns.names[copy]: columns.names[first] for first, *copies in manifest.tied for copy in copies}
        products = named_products(manifest)
        self._products = {product.name: product for product in products}
        by_left, rights = {product.left: product.name for product in products}, {product.right for product in products}
        self._names = {by_left.get(name, name): None for name in self._rows if name not in rights}

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        product = self._products.get(name)
        if product is not None:
            array = multiplied(self._stored(product.left), self._stored(product.right), product.dtype)
            return dtypes.widen(array, product.dtype)
        if name not in self._names:
            raise KeyError(name)
        return dtypes.widen(self._tensor(name), self._rows[name][0])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Bundle of {len(self)} tensors, encoder {self._parsed.encoder}, {self._reader.total} bytes>"

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest as the file holds it; a new dict."""
        document: dict[str, Any] = json.loads(self._reader.manifest)
        return document

    @property
    def metrics(self) -> dict[str, Any] | None:
        """The writer's metrics, or None; a new dict."""
        metrics: dict[str, Any] | None = self.manifest["metrics"]
        return metrics

    @cached_property
    def sizes(self) -> BundleSizes:
        """Bytes by part, and the sha256 of the whole file, which is read for it."""
        return BundleSizes.of(self._reader.entries, self._reader.total, self._reader.sha256())

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of w_net. Raises BundleError."""
        return self._symbols

    def weights(self) -> Weights:
        """All tensors in their own types, as before compression. Raises BundleError."""
        return expanded(self.stored())

    def stored(self) -> Weights:
        """All tensors as the file holds them: factors in place of their products. Raises BundleError."""
        arrays = {name: self._tensor(name) for name in self._rows if name not in self._first}
        tensors = tuple(
            Tensor(name, dtype, arrays[self._first.get(name, name)]) for name, (dtype, _) in self._rows.items()
        )
        names = self._parsed.tensors.names
        tied = tuple(tuple(names[index] for index in group) for group in self._parsed.tied)
        compressible = tuple(name for name in names if name in self._compressible)
        return Weights(tensors, compressible, tied, tuple(self._products.values()))

    def verify(self) -> None:
        """Read every byte and decode every tensor, keeping none. Raises BundleError where one is not as written."""
        fresh = open_bundle(self._reader.source)
        if fresh._reader.manifest != self._reader.manifest:
            raise BundleError("the bundle was replaced by another while it was open: open it again")
        fresh.symbols()
        for name in fresh._rows:
            fresh._tensor(name)

    def state_dict(self) -> dict[str, Any]:
        """PyTorch tensors of the true types, tied ones as one tensor, for ``load_state_dict``.

        Raises:
            CnetError: ``torch_missing``, where PyTorch is not installed.
            BundleError: the bundle is damaged.
        """
        try:
            export = importlib.import_module("cnet.training.export")  # by name: all else works without torch
        except ImportError as error:
            raise CnetError("state_dict() needs PyTorch: pip install 'cnet[train]'", code="torch_missing") from error
        tensors: dict[str, Any] = export.state_dict(self.weights())
        return tensors

    def _stored(self, name: str) -> Tensor:
        return Tensor(name, self._rows[name][0], self._tensor(name))

    def _tensor(self, name: str) -> npt.NDArray[np.generic]:
        """A new array in the storage type of the tensor's own type."""
        dtype, shape = self._rows[name]
        place = self._parsed.places[name]
        try:
            if self._first.get(name, name) in self._compressible:
                return dtypes.narrow(self._vector[place], dtype).reshape(shape)
            return self._other[place].view(dtypes.by_name(dtype).numpy).reshape(shape).copy()
        except _FOREIGN as error:
            raise BundleError(f"tensor {name!r} of the bundle cannot be decoded") from error

    @cached_property
    def _symbols(self) -> Symbols:
        parsed = self._parsed
        try:
            encoder = ENCODERS.create(parsed.encoder)
        except SpecError as error:
            raise BundleError(f"this release has no decoder {parsed.encoder!r}: use a newer one") from error
        streams = {name: self._member(name) for name in parsed.members if name != "other"}
        shapes = parsed.compressible_shapes
        try:
            symbols = encoder.decode(streams, parsed.header, shapes)
        except _FOREIGN as error:
            raise BundleError("the bundle's arrays cannot be decoded") from error
        if len(symbols.keep) != sum(map(math.prod, shapes)):
            raise BundleError("the bundle contradicts itself: its arrays are not those of its tensors")
        return symbols

    @cached_property
    def _vector(self) -> npt.NDArray[np.floating]:
        return self._symbols.vector()

    @cached_property
    def _other(self) -> npt.NDArray[np.generic]:
        member = self._member("other") if "other" in self._parsed.members else np.empty(0, np.uint8)
        if self._parsed.other is None:
            return member
        return unpack_others(memoryview(member.tobytes()), self._parsed.others, self._parsed.other.kind)

    def _member(self, name: str) -> npt.NDArray[np.generic]:
        return self._reader.member(name, self._parsed.members[name].packed())
