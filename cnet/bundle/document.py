"""The manifest as JSON and back, in each format version; the specification is ``cnet.bundle``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, ValidationError

from cnet.bundle.manifest import STREAMS, Columns, Factors, Joined, Length, Manifest, Other, Role
from cnet.bundle.notes import Digest, Notes, restored, shortened
from cnet.bundle.reconstruction import LocalEntry
from cnet.documents import StrictDocument
from cnet.errors import BundleError

VERSIONS = (1, 2, 3)

_FORMAT = "cnet-bundle"

_MOST_NAMES = 2**26  # characters of all names, which few bytes could make as many of as they like

_MOST_SIDES = 2**24  # dimensions of all tensors: one long shape and few bytes a tensor could fill any memory

_PACKING = {"kind": "planes", "error": 0.0}

Shape = Annotated[tuple[Length, ...], Field(max_length=64)]


class _Document(StrictDocument):
    """The JSON of version 3; what is null or empty is left out."""

    format: Literal["cnet-bundle"]
    version: Literal[3]
    encoder: str
    header: dict[str, JsonValue] = Field(default_factory=dict)
    kinds: dict[Role, dict[str, tuple[Shape, ...]]]
    tensors: tuple[tuple[Length, str] | tuple[Length, Length, str], ...]
    tied: tuple[tuple[Length, ...], ...] = ()
    sizes: Annotated[tuple[Length, ...], Field(min_length=2, max_length=3)]
    others: tuple[Length, ...] = ()
    packing: Other = Other(kind="planes", error=0.0)
    local: LocalEntry | None = None
    products: tuple[Factors, ...] = ()
    digests: tuple[Digest, ...]
    notes: Notes | None = None
    metrics: dict[str, JsonValue] | None = None
    extra: dict[str, JsonValue] | None = None

    def columns(self) -> Columns:
        """All tensors. Raises ValueError."""
        kinds = [
            (dtype, shape, role)
            for role, by_dtype in self.kinds.items()
            for dtype, shapes in by_dtype.items()
            for shape in shapes
        ]
        if any(entry[0] >= len(kinds) for entry in self.tensors):
            raise ValueError("a tensor is of no kind")
        rows = [kinds[entry[0]] for entry in self.tensors]
        if sum(len(shape) for _, shape, _ in rows) > _MOST_SIDES:
            raise ValueError("the tensors have more dimensions than those of any net that this release writes")
        return Columns(
            names=tuple(_names((0, entry[1]) if len(entry) == 2 else entry[1:] for entry in self.tensors)),
            dtypes=tuple(dtype for dtype, _, _ in rows),
            shapes=tuple(shape for _, shape, _ in rows),
            roles=tuple(role for _, _, role in rows),
        )


def parse(text: bytes) -> Manifest:
    """The manifest in ``text``. Raises BundleError."""
    try:
        document = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BundleError("the bundle's manifest is not JSON") from error
    try:
        if isinstance(document, dict) and document.get("format") == _FORMAT:
            _check_version(document.get("version"))
            if document["version"] == 3:
                return _joined(text)
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BundleError(f"the bundle's manifest is not valid: {where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise BundleError(f"the bundle's manifest is not valid: {error}") from error


def to_json(manifest: Manifest) -> bytes:
    """Compact UTF-8 JSON. Raises BundleError where it cannot hold a name or number."""
    try:
        return json.dumps(_document(manifest), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise BundleError("names and metrics must be text and numbers that JSON can hold") from error


def _document(manifest: Manifest) -> dict[str, Any]:
    if manifest.joined is not None:
        return _joined_document(manifest, manifest.joined)
    empty = {name for name in ("local", "products") if not getattr(manifest, name)}
    return manifest.model_dump(mode="json", exclude=empty | ({"other"} if manifest.version == 1 else set()))


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _check_version(version: object) -> None:
    if type(version) is not int or version not in VERSIONS:
        raise BundleError(
            f"the bundle has format version {version!r}; this release reads 1 to {VERSIONS[-1]}: use a newer release",
            code="bundle_version",
        )


def _joined(text: bytes) -> Manifest:
    """The manifest of version 3. Raises ValueError."""
    document = _Document.model_validate_json(text)
    columns = document.columns()
    metrics, extra = document.metrics, document.extra
    if document.notes is not None:
        if metrics is not None or extra is not None:
            raise ValueError("a run's notes are there twice")
        metrics, extra = restored(document.notes, columns)
    return Manifest(
        version=3,
        encoder=document.encoder,
        header=document.header,
        tensors=columns,
        tied=document.tied,
        metrics=metrics,
        extra=extra,
        other=document.packing,
        local=document.local,
        products=document.products,
        joined=Joined(
            sizes=dict(zip(STREAMS, document.sizes, strict=False)), others=document.others, digests=document.digests
        ),
    )


def _shared(names: Iterable[str]) -> Iterator[tuple[str] | tuple[int, str]]:
    """Each name less the dotted parts that it shares with the one before, their number in front where there are any.

    Names of nets repeat themselves block by block; less what they share they do so to the letter, and deflate to half.
    """
    before: list[str] = []
    for name in names:
        parts = name.split(".")
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, parts[:-1], strict=False))
        count = sum(1 for _ in same)
        yield (count, ".".join(parts[count:])) if count else (name,)
        before = parts


def _names(entries: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The names of which ``_shared`` made the entries. Raises ValueError where they are no such."""
    before: list[str] = []
    total = 0
    for count, rest in entries:
        if count > len(before):
            raise ValueError("a tensor's name shares more with the one before than that has")
        name = ".".join([*before[:count], rest])
        total += len(name)
        if total > _MOST_NAMES:
            raise ValueError("the names of the tensors are longer than any that this release writes")
        yield name
        before = name.split(".")


def _joined_document(manifest: Manifest, joined: Joined) -> dict[str, Any]:
    """The JSON of version 3."""
    columns = manifest.tensors
    rows = list(zip(columns.roles, columns.dtypes, columns.shapes, strict=True))
    kinds: dict[str, dict[str, list[tuple[int, ...]]]] = {}
    for role, dtype, shape in dict.fromkeys(rows):
        kinds.setdefault(role, {}).setdefault(dtype, []).append(shape)
    in_order = [(role, dtype, shape) for role, each in kinds.items() for dtype in each for shape in each[dtype]]
    places = {row: place for place, row in enumerate(in_order)}
    notes = shortened(manifest.metrics, manifest.extra, columns)
    document = {
        "format": _FORMAT,
        "version": 3,
        "encoder": manifest.encoder,
        "header": manifest.header,
        "kinds": kinds,
        "tensors": [(places[row], *name) for name, row in zip(_shared(columns.names), rows, strict=True)],
        "tied": manifest.tied,
        "sizes": list(joined.sizes.values()),
        "others": joined.others,
        "packing": manifest.other.model_dump() if manifest.other else _PACKING,
        "local": manifest.local.model_dump() if manifest.local else None,
        "products": [each.model_dump() for each in manifest.products],
        "digests": joined.digests,
        "notes": notes,
        "metrics": manifest.metrics if notes is None else None,
        "extra": manifest.extra if notes is None else None,
    }
    unsaid: dict[str, Any] = {
        "header": {},
        "tied": (),
        "others": (),
        "packing": _PACKING,
        "local": None,
        "products": [],
        "notes": None,
        "metrics": None,
        "extra": None,
    }
    return {name: value for name, value in document.items() if name not in unsaid or value != unsaid[name]}
