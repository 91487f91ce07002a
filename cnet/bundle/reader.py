"""The bundle: one compressed net in one .npz file. This text is its specification, format versions 1 to 3.

**The file** is a zip archive that ``numpy.load(file, allow_pickle=False)`` reads, whose members are version 1.0 .npy
files of one dimension, little-endian. In versions 1 and 2 (encoders ``npz`` and ``huffman``; ``compact`` until version
3) each part is a member, deflated, up to five in this order:

    mask.npy labels.npy centroids.npy   what the encoder made of w_net (``cnet.coding``); an encoder may leave some out
    other.npy                           uint8: the bytes of all other tensors in C order, one after the other, in the
                                        manifest's order; left out where there are none
    manifest.npy                        uint8: UTF-8 JSON

In version 3 (encoder ``compact``) all parts are in one member, so that a small net does not pay for many:

    data.npy                            uint8, stored: mask, labels, centroids, and the blocks of other tensors
    manifest.npy                        uint8, deflated: UTF-8 JSON

**The manifest** of versions 1 and 2 is one object:

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
    other             version 2 only: {"kind", "error"}: how ``other`` is packed (``cnet.coding.other_tensors``), and
                      by how much its values differ from the original ones at most
    local             only where the place of a kept weight in w_net does something to its centroid:
                      {"kind": "dither", "seed", "step"}, or {"kind": "scales", "length"}: the last so many elements
                      of ``centroids`` are not the encoder's but the factors of the rows: as they are, or packed as in
                      ``cnet.coding.primitives.byte_planes`` where ``centroids`` is uint8
    products          only where there are any: tensors that are stored as two factors, {"name", "dtype", "left",
                      "right"}, the last two being places in the lists of ``tensors``, which hold the factors and not
                      the product: ``left`` and ``right`` lie side by side, are compressible, and not tied

That of version 3 leaves out what is empty or null, and has other forms of these:

    kinds             {role: {dtype: [shape, ...]}}: the kinds of tensors that there are, numbered from 0 as they stand
    tensors           of each tensor, in the net's order, [number of its kind, name], or [number of its kind, n, rest],
                      where the first n of the name's dotted parts are those of the name before
    sizes             bytes of mask, labels and, where there are any, centroids in ``data``
    others            bytes of each block of other tensors in ``data``
    packing           {"kind", "error"}: ``other`` of version 2; left out where it is "planes" without an error
    digests           the first 16 bytes of the sha256 of each 2^16 bytes of ``data``, in URL-safe base64, unpadded
    notes             in place of ``metrics`` and ``extra``, where they are a run's: {"metrics", "spec", "inputs"}, and
                      "quantize" where a search chose it. The tables are in ``cnet.bundle.notes``: ``metrics`` is
                      METRICS and BASELINE without their names, then COUNTS where they do not follow from the tensors;
                      ``spec`` is less what SAID, SECTIONS and PARTS say: null stands for what is in them and not in
                      the spec, a name for a part of which nothing else is left, and a part without a name has that of
                      SAID; ``inputs`` are digests of weights and data set, written as in ``digests``, or null

**Decoding.** The encoder gives w_net in float32 (float64 for a float64 net), and ``local`` changes it. Each
compressible tensor is its part of w_net rounded to its own type, to nearest, ties to even. All other tensors are their
bytes. A product takes the place of its factors in the net's order; it is ``left`` times ``right``, exactly as
``cnet.products`` has it.

**Every byte counts.** Zip records are those of PKWARE's APPNOTE 6.3 with all that could vary fixed: names as above,
version 20, no flags, method 8 (0 for what is stored), date 1980-01-01 00:00, no attributes, members without gaps from
offset 0, the directory after them, and zip64 fields (version 45) only where a size or offset reaches 2^31. The .npy
header is padded with spaces to a multiple of 64 bytes; in version 3 it is without spaces and not padded. The comment of
the end record is the seal, of the sha256 of the manifest's deflated bytes, then all local headers in order, then
directory and end record up to the comment: 64 hex digits; in version 3 its first 16 bytes in URL-safe base64. A reader
builds all records anew and compares, so that with the digests in the manifest no byte of the file is free. The file
holds no time, host or path: the same net and symbols give the same bytes.
"""

from __future__ import annotations

import copy
import importlib
import json
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import CHUNK, slices
from cnet.bundle.container import Reader, Source
from cnet.bundle.document import parse
from cnet.bundle.manifest import Manifest, named_products
from cnet.bundle.parts import FOREIGN, Parts, parts_of
from cnet.bundle.writer import BundleSizes, write_bundle
from cnet.errors import BundleError, CnetError
from cnet.products import expanded, multiplied, shape_of
from cnet.symbols import Symbols
from cnet.weights import Product, Tensor, Weights

__all__ = ["Bundle", "BundleSizes", "open_bundle", "write_bundle"]


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
    manifest = parse(reader.manifest)
    return Bundle(reader, manifest, parts_of(reader, manifest))


class Bundle(Mapping[str, npt.NDArray[np.generic]]):
    """What ``open_bundle`` returns.

    ``bundle[name]`` is a new array of the tensor's shape and type; bfloat16 and float8, which NumPy has not, are
    float32 with the same values. Tied tensors are there under each of their names. Made by ``open_bundle``.

    In version 3 a tensor is decoded without the rest: from the segments of 2^21 weights that it lies in, of which the
    last is kept, so that reading tensors in their order decodes each segment once.
    """

    def __init__(self, reader: Reader, manifest: Manifest, parts: Parts) -> None:
        self._reader = reader
        self._parsed = manifest
        self._parts = parts
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
            return dtypes.widen(self._product(product), product.dtype)
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
        """The manifest as the file holds it, a run's notes as metrics and extra; a new dict."""
        document: dict[str, Any] = json.loads(self._reader.manifest)
        if document.pop("notes", None) is not None:
            document |= copy.deepcopy({"metrics": self._parsed.metrics, "extra": self._parsed.extra})
        return document

    @property
    def metrics(self) -> dict[str, Any] | None:
        """The writer's metrics, or None; a new dict."""
        metrics: dict[str, Any] | None = self.manifest.get("metrics")
        return metrics

    @cached_property
    def sizes(self) -> BundleSizes:
        """Bytes by part, and the sha256 of the whole file, which is read for it."""
        return BundleSizes.of(self._parts.sizes, self._reader.total, self._reader.sha256())

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of w_net. Raises BundleError."""
        return self._parts.symbols()

    def weights(self) -> Weights:
        """All tensors in their own types, as before compression. Raises BundleError."""
        stored = self.stored()
        try:
            return expanded(stored)
        except FOREIGN as error:
            raise BundleError("the bundle's products of factors cannot be computed") from error

    def stored(self) -> Weights:
        """All tensors as the file holds them: factors in place of their products. Raises BundleError."""
        arrays = {name: self._tensor(name) for name in self._rows if name not in self._first}
        tensors = tuple(
            Tensor(name, dtype, arrays[self._first.get(name, name)]) for name, (dtype, _) in self._rows.items()
        )
        names = self._parsed.tensors.names
        compressible = tuple(name for name in names if name in self._compressible)
        return Weights(tensors, compressible, self.tied, tuple(self._products.values()))

    def described(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Name of a tensor's element type (``cnet.dtypes``), and its shape."""
        product = self._products.get(name)
        if product is None:
            return self._rows[name]
        return product.dtype, shape_of(self._rows[product.left][1], self._rows[product.right][1])

    @property
    def tied(self) -> tuple[tuple[str, ...], ...]:
        """Groups of names that share their values, as in ``Weights``."""
        names = self._parsed.tensors.names
        return tuple(tuple(names[index] for index in group) for group in self._parsed.tied)

    @property
    def raw_bytes(self) -> int:
        """Bytes of all elements in their own types; tied tensors once."""
        own = (self.described(name) for name in self if name not in self._first)
        return sum(math.prod(shape) * dtypes.by_name(dtype).numpy.itemsize for dtype, shape in own)

    def pieces(self, name: str, size: int = CHUNK) -> Iterator[npt.NDArray[np.generic]]:
        """A tensor's elements, flat, ``size`` at a time, in the storage type of its own type. Raises BundleError.

        The elements of a product, which are made of all of its factors, come all at once.
        """
        if name in self._products:
            yield self._product(self._products[name]).reshape(-1)
            return
        count = math.prod(self._rows[name][1])
        for part in slices(count, size):
            yield self._elements(name, part)

    def verify(self) -> None:
        """Read every byte and decode everything, keeping none of it. Raises BundleError where one is not as written."""
        fresh = open_bundle(self._reader.source)
        if fresh._reader.manifest != self._reader.manifest:
            raise BundleError("the bundle was replaced by another while it was open: open it again")
        fresh._parts.verify()

    def state_dict(self) -> dict[str, Any]:
        """PyTorch tensors of the true types, tied ones as one tensor, for ``load_state_dict``.

        Raises:
            CnetError: ``torch_missing``, where PyTorch is not installed.
            BundleError: the bundle is damaged.
        """
        try:
            export = importlib.import_module("cnet.formats.torch.state_dict")  # by name: all else works without torch
        except ImportError as error:
            raise CnetError("state_dict() needs PyTorch: pip install 'cnet[train]'", code="torch_missing") from error
        tensors: dict[str, Any] = export.state_dict(self.weights())
        return tensors

    def _product(self, product: Product) -> npt.NDArray[np.generic]:
        left, right = (Tensor(name, self._rows[name][0], self._tensor(name)) for name in (product.left, product.right))
        try:
            return multiplied(left, right, product.dtype)
        except FOREIGN as error:
            raise BundleError(f"tensor {product.name!r} of the bundle cannot be computed") from error

    def _tensor(self, name: str) -> npt.NDArray[np.generic]:
        """A new array in the storage type of the tensor's own type."""
        shape = self._rows[name][1]
        return self._elements(name, slice(0, math.prod(shape))).reshape(shape)

    def _elements(self, name: str, part: slice) -> npt.NDArray[np.generic]:
        """Some of a tensor's elements, a new array."""
        dtype, place = self._rows[name][0], self._parsed.places[name].start
        try:
            if self._first.get(name, name) in self._compressible:
                return dtypes.narrow(self._parts.values(slice(place + part.start, place + part.stop)), dtype)
            kind = dtypes.by_name(dtype).numpy
            start, stop = place + part.start * kind.itemsize, place + part.stop * kind.itemsize
            return self._parts.other(slice(start, stop)).view(kind)
        except FOREIGN as error:
            raise BundleError(f"tensor {name!r} of the bundle cannot be decoded") from error
