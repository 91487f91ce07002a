"""The manifest as JSON and back; docs/bundle-format.md specifies it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from cnet.bundle.container.errors import reason
from cnet.bundle.manifest import (
    STREAMS,
    Digest,
    JoinedLayout,
    Length,
    Manifest,
    MemberEntry,
    PackingEntry,
    ProductEntry,
    Role,
    SeparateLayout,
    Shape,
    TensorColumns,
)
from cnet.bundle.notes import Notes, pack_notes, unpack_notes
from cnet.bundle.reconstruction import ReconstructionEntry
from cnet.documents import StrictDocument
from cnet.errors import BundleError
from cnet.formats.parsing.quoting import quoted

VERSION = 1

_FORMAT = "cnet-bundle"
_MOST_NAME_CHARACTERS = 2**26  # of all names: names that share a beginning take few bytes in the file
_MOST_SIDES = 2**24  # of all shapes: tensors that share a shape take few bytes in the file

_PLANES = PackingEntry(kind="planes", error=0.0)

_OMITTED: dict[str, Any] = {
    "header": {},
    "others": [],
    "packing": _PLANES.model_dump(),
    "tied": [],
    "reconstruction": None,
    "products": [],
    "notes": None,
}
"""Values that are not written."""


class _Document(StrictDocument):
    """What the JSON of both layouts has in common."""

    format: Literal["cnet-bundle"]
    version: Literal[1]
    encoder: str
    header: dict[str, JsonValue] = Field(default_factory=dict)
    tied: tuple[tuple[Length, ...], ...] = ()
    reconstruction: ReconstructionEntry | None = None
    products: tuple[ProductEntry, ...] = ()
    notes: str | None = None

    def manifest(self, tensors: TensorColumns, layout: SeparateLayout | JoinedLayout) -> Manifest:
        """The manifest with these tensors and this layout. Raises ValueError, BundleError."""
        notes = Notes() if self.notes is None else unpack_notes(self.notes)
        return Manifest(
            encoder=self.encoder,
            header=self.header,
            tensors=tensors,
            tied=self.tied,
            layout=layout,
            metrics=notes.metrics,
            extra=notes.extra,
            reconstruction=self.reconstruction,
            products=self.products,
        )


class _SeparateDocument(_Document):
    """The JSON of a bundle with a member for each part."""

    tensors: TensorColumns
    members: dict[str, MemberEntry]


class _JoinedDocument(_Document):
    """The JSON of a bundle with all parts in the member ``data``."""

    kinds: dict[Role, dict[str, tuple[Shape, ...]]]
    tensors: tuple[tuple[Length, str] | tuple[Length, Length, str], ...]
    sizes: Annotated[tuple[Length, ...], Field(min_length=2, max_length=3)]
    others: tuple[Length, ...] = ()
    packing: PackingEntry = _PLANES
    digests: tuple[Digest, ...]

    def layout(self) -> JoinedLayout:
        """The sizes of the parts, from which their positions follow."""
        sizes = dict(zip(STREAMS, self.sizes, strict=False))
        return JoinedLayout(sizes=sizes, others=self.others, packing=self.packing, digests=self.digests)

    def columns(self) -> TensorColumns:
        """All tensors. Raises ValueError."""
        kinds = [
            (dtype, shape, role)
            for role, by_dtype in self.kinds.items()
            for dtype, shapes in by_dtype.items()
            for shape in shapes
        ]
        if any(entry[0] >= len(kinds) for entry in self.tensors):
            raise ValueError(f"a tensor names a kind that is not among the {len(kinds)} kinds")
        rows = [kinds[entry[0]] for entry in self.tensors]
        if sum(len(shape) for _, shape, _ in rows) > _MOST_SIDES:
            raise ValueError(f"the shapes of all tensors have more than {_MOST_SIDES} sides")
        return TensorColumns(
            names=tuple(_full_names((0, entry[1]) if len(entry) == 2 else entry[1:] for entry in self.tensors)),
            dtypes=tuple(dtype for dtype, _, _ in rows),
            shapes=tuple(shape for _, shape, _ in rows),
            roles=tuple(role for _, _, role in rows),
        )


def parse(text: bytes) -> Manifest:
    """The manifest in UTF-8 JSON. Raises BundleError."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _invalid("it is no JSON") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _invalid(f"its format is not {_FORMAT!r}")
    _check_version(document.get("version"))
    try:
        if "members" in document:
            separate = _SeparateDocument.model_validate_json(text)
            return separate.manifest(separate.tensors, SeparateLayout(members=separate.members))
        joined = _JoinedDocument.model_validate_json(text)
        return joined.manifest(joined.columns(), joined.layout())
    except (ValueError, RecursionError) as error:
        raise _invalid(reason(error)) from error


def to_json(manifest: Manifest) -> bytes:
    """Compact UTF-8 JSON of the manifest. Raises BundleError where JSON cannot hold a name or a note."""
    layout = manifest.layout
    own = _joined_fields(manifest, layout) if isinstance(layout, JoinedLayout) else _separate_fields(manifest, layout)
    reconstruction = manifest.reconstruction
    document = {
        "format": _FORMAT,
        "version": VERSION,
        "encoder": manifest.encoder,
        "header": manifest.header,
        **own,
        "tied": [list(group) for group in manifest.tied],
        "reconstruction": reconstruction.model_dump() if reconstruction else None,
        "products": [each.model_dump() for each in manifest.products],
    }
    document["notes"] = pack_notes(manifest.metrics, manifest.extra)
    written = {name: value for name, value in document.items() if name not in _OMITTED or value != _OMITTED[name]}
    try:
        return json.dumps(written, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise BundleError(
            f"bundle: a tensor's name is not valid Unicode ({error}). Rename the tensor in the checkpoint."
        ) from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _check_version(version: object) -> None:
    if type(version) is not int or version != VERSION:
        raise BundleError(
            f"bundle: its format version is {quoted(version)}, and this release reads version {VERSION}. "
            "Install a newer release of cnet.",
            code="bundle_version",
        )


def _invalid(why: str) -> BundleError:
    return BundleError(f"bundle: its manifest is not valid, {why}. Ask whoever made the file for another one.")


def _separate_fields(manifest: Manifest, layout: SeparateLayout) -> dict[str, Any]:
    return {"tensors": manifest.tensors.model_dump(mode="json"), **layout.model_dump(mode="json")}


def _joined_fields(manifest: Manifest, layout: JoinedLayout) -> dict[str, Any]:
    columns = manifest.tensors
    rows = list(zip(columns.roles, columns.dtypes, columns.shapes, strict=True))
    kinds: dict[str, dict[str, list[tuple[int, ...]]]] = {}
    for role, dtype, shape in dict.fromkeys(rows):
        kinds.setdefault(role, {}).setdefault(dtype, []).append(shape)
    in_order = [(role, dtype, shape) for role, each in kinds.items() for dtype in each for shape in each[dtype]]
    numbers = {row: number for number, row in enumerate(in_order)}
    return {
        "kinds": kinds,
        "tensors": [(numbers[row], *name) for name, row in zip(_short_names(columns.names), rows, strict=True)],
        "sizes": list(layout.sizes.values()),
        "others": list(layout.others),
        "packing": layout.packing.model_dump(),
        "digests": layout.digests,
    }


def _short_names(names: Iterable[str]) -> Iterator[tuple[str] | tuple[int, str]]:
    """Each name without the dotted parts that it shares with the name before, preceded by their number unless 0.

    Blocks of layers then repeat each other exactly, which halves their deflated size.
    """
    before: list[str] = []
    for name in names:
        parts = name.split(".")
        equal = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, parts[:-1], strict=False))
        count = sum(1 for _ in equal)
        yield (count, ".".join(parts[count:])) if count else (name,)
        before = parts


def _full_names(entries: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The names that ``_short_names`` shortened. Raises ValueError."""
    before: list[str] = []
    total = 0
    for count, rest in entries:
        if count > len(before):
            raise ValueError(f"a tensor's name shares {count} parts with the one before, which has {len(before)}")
        name = ".".join([*before[:count], rest])
        total += len(name)
        if total > _MOST_NAME_CHARACTERS:
            raise ValueError(f"the names of all tensors have more than {_MOST_NAME_CHARACTERS} characters")
        yield name
        before = name.split(".")
