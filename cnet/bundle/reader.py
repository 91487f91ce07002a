"""Read a bundle; docs/bundle-format.md specifies its format."""

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
from cnet.bundle.container import ContainerReader, Source
from cnet.bundle.contents import BundleContents, contents_of, decoding
from cnet.bundle.manifest import Manifest
from cnet.bundle.manifest_json import parse
from cnet.bundle.sizes import BundleSizes
from cnet.errors import BundleError, CnetError
from cnet.formats.parsing.quoting import quoted
from cnet.products import multiply, multiply_products, product_shape
from cnet.symbols import Symbols
from cnet.weights import Product, Tensor, Weights


def open_bundle(source: Source) -> Bundle:
    """Open a bundle: a mapping of tensor names to arrays, which are decoded when they are asked for.

    Zip records, directory and manifest are checked here, the content of each part when it is first read;
    ``Bundle.verify`` checks everything at once.

    Args:
        source: a path, the file's bytes, or a binary file that can seek. Such a file must begin with the bundle and
            stay open.

    Raises:
        BundleError: the file is damaged, no bundle, or of another format version.
        OSError: the file cannot be read.
    """
    reader = ContainerReader(source)
    manifest = parse(reader.manifest)
    return Bundle(reader, manifest, contents_of(reader, manifest))


class Bundle(Mapping[str, npt.NDArray[np.generic]]):
    """One compressed network, as ``open_bundle`` returns it.

    ``bundle[name]`` is a new array of the tensor's shape and element type; bfloat16 and float8, which NumPy does not
    have, are float32 with the same values. Tied tensors are there under each of their names.

    In bundles of the encoder ``compact`` one tensor is decoded without the others: from the segments of 2^21 weights
    that it lies in. The last segment stays in memory, so that reading tensors in their order decodes each segment once.
    """

    def __init__(self, reader: ContainerReader, manifest: Manifest, contents: BundleContents) -> None:
        self._reader = reader
        self._parsed = manifest
        self._contents = contents
        columns = manifest.tensors
        self._rows = dict(zip(columns.names, zip(columns.dtypes, columns.shapes, strict=True), strict=True))
        self._compressible = frozenset(
            name for name, role in zip(columns.names, columns.roles, strict=True) if role == "compressible"
        )
        self._first = {columns.names[copy]: columns.names[first] for first, *copies in manifest.tied for copy in copies}
        products = manifest.product_tensors
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
        """The manifest's JSON with ``metrics`` and ``extra`` (or None) in place of ``notes``; a new dict."""
        document: dict[str, Any] = json.loads(self._reader.manifest)
        document.pop("notes", None)
        return document | {"metrics": self.metrics, "extra": self.extra}

    @property
    def metrics(self) -> dict[str, Any] | None:
        """Numbers that the writer noted, or None; a new dict."""
        return copy.deepcopy(self._parsed.metrics)

    @property
    def extra(self) -> dict[str, Any] | None:
        """What else the writer noted, such as the spec of its job, or None; a new dict."""
        return copy.deepcopy(self._parsed.extra)

    @cached_property
    def sizes(self) -> BundleSizes:
        """Bytes of the file by part, and its SHA-256, for which the whole file is read."""
        return BundleSizes.of(self._contents.sizes, self._reader.total, self._reader.sha256())

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of w_net, decoded. Raises BundleError."""
        return self._contents.symbols()

    def weights(self) -> Weights:
        """All tensors under the names, shapes and element types of the original. Raises BundleError."""
        stored = self.stored()
        with decoding("a product of two factors"):
            return multiply_products(stored)

    def stored(self) -> Weights:
        """All tensors with factors in place of their products, as the file holds them. Raises BundleError."""
        arrays = {name: self._tensor(name) for name in self._rows if name not in self._first}
        tensors = tuple(
            Tensor(name, dtype, arrays[self._first.get(name, name)]) for name, (dtype, _) in self._rows.items()
        )
        names = self._parsed.tensors.names
        compressible = tuple(name for name in names if name in self._compressible)
        return Weights(tensors, compressible, self.tied, tuple(self._products.values()))

    def described(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Element type (a name of ``cnet.dtypes``) and shape of a tensor."""
        product = self._products.get(name)
        if product is None:
            return self._rows[name]
        return product.dtype, product_shape(self._rows[product.left][1], self._rows[product.right][1])

    @property
    def tied(self) -> tuple[tuple[str, ...], ...]:
        """Groups of names of tensors that share their values."""
        names = self._parsed.tensors.names
        return tuple(tuple(names[index] for index in group) for group in self._parsed.tied)

    @property
    def slices(self) -> dict[str, slice]:
        """The slice of w_net of each stored tensor that is compressible; a tied copy has that of its first."""
        columns, positions = self._parsed.tensors, self._parsed.positions
        firsts = {name: self._first.get(name, name) for name in columns.names}
        return {name: positions[first] for name, first in firsts.items() if first in self._compressible}

    @property
    def products(self) -> tuple[Product, ...]:
        """The tensors that are stored as two factors."""
        return tuple(self._products.values())

    @property
    def raw_bytes(self) -> int:
        """Bytes of all elements in their own types, tied tensors once."""
        own = (self.described(name) for name in self if name not in self._first)
        return sum(math.prod(shape) * dtypes.by_name(dtype).numpy.itemsize for dtype, shape in own)

    def chunks(self, name: str, size: int = CHUNK) -> Iterator[npt.NDArray[np.generic]]:
        """A tensor's elements in flat arrays of ``size``, in the storage type of its own type. Raises BundleError.

        A product of factors comes as one array.
        """
        if name in self._products:
            yield self._product(self._products[name]).reshape(-1)
            return
        count = math.prod(self._rows[name][1])
        for part in slices(count, size):
            yield self._elements(name, part)

    def verify(self) -> None:
        """Read every byte and decode everything once. Raises BundleError where a byte is not as it was written."""
        fresh = open_bundle(self._reader.source)
        if fresh._reader.manifest != self._reader.manifest:
            raise BundleError("bundle: another file took its place while it was open. Open it again.")
        fresh._contents.verify()

    def state_dict(self) -> dict[str, Any]:
        """PyTorch tensors of the original element types for ``load_state_dict``; tied ones are one tensor.

        Raises:
            CnetError: ``torch_missing``, where PyTorch is not installed.
            BundleError: the bundle is damaged.
        """
        try:
            export = importlib.import_module("cnet.formats.torch.state_dict")  # by name: nothing else here needs torch
        except ImportError as error:
            raise CnetError(
                "state_dict: PyTorch is not installed. Install it with pip install 'cnet[train]'.", code="torch_missing"
            ) from error
        tensors: dict[str, Any] = export.state_dict(self.weights())
        return tensors

    def _product(self, product: Product) -> npt.NDArray[np.generic]:
        left, right = (Tensor(name, self._rows[name][0], self._tensor(name)) for name in (product.left, product.right))
        with decoding(f"tensor {quoted(product.name)}"):
            return multiply(left, right, product.dtype)

    def _tensor(self, name: str) -> npt.NDArray[np.generic]:
        """The tensor: a new array in the storage type of its own type."""
        shape = self._rows[name][1]
        return self._elements(name, slice(0, math.prod(shape))).reshape(shape)

    def _elements(self, name: str, part: slice) -> npt.NDArray[np.generic]:
        """A tensor's elements in ``part``, flat: a new array in the storage type of the tensor's own type."""
        dtype, start = self._rows[name][0], self._parsed.positions[name].start
        with decoding(f"tensor {quoted(name)}"):
            if self._first.get(name, name) in self._compressible:
                return dtypes.narrow(self._contents.values(slice(start + part.start, start + part.stop)), dtype)
            kind = dtypes.by_name(dtype).numpy
            first, last = start + part.start * kind.itemsize, start + part.stop * kind.itemsize
            return self._contents.other(slice(first, last)).view(kind)
