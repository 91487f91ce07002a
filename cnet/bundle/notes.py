"""A run's notes in few bytes: what the manifest of version 3 says less what its reader knows anyway.

A run notes its metrics, its spec and digests of its inputs in every bundle, which whole would be more bytes than all
the rest of a small net's container. The tables here are a part of the format: what is left out of a spec has the value
that they say, whatever later releases take for a default. They are never changed; a new table would need a new name in
the manifest. ``cnet.bundle`` specifies the JSON.
"""

from __future__ import annotations

import base64
import copy
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, JsonValue

from cnet import dtypes
from cnet.bundle.manifest import Columns
from cnet.documents import StrictDocument

Digest = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{22}$")]

Document = dict[str, Any]

METRICS = (
    *("sparsity_requested", "clusters_requested", "sparsity", "clusters", "accuracy", "accuracy_before_quantize"),
    *("loss", "label_entropy", "mse"),
)
"""The metrics of a point, in order."""

BASELINE = ("accuracy", "loss", "npz_bytes", "compressible_npz_bytes")
"""The numbers of the net before compression that follow."""

COUNTS = ("raw_bytes", "parameters", "compressible_parameters")
"""Those that come last, where they are not the bundle's own."""

_GRADUAL = {"epochs": 10, "start": 0.0, "rise": 0.75, "steps": 100}
_PRUNER = {"sparsity": [0.9], "scope": "network", "floor": 0.0, "?gradual": _GRADUAL}

_OPTIMIZER = {"name": "adam", "learning_rate": 0.003, "momentum": 0.9, "weight_decay": 0.0, "nesterov": False}
_SCHEDULE = {"name": "constant", "milestones": [], "gamma": 0.1, "warmup_epochs": 0}
_AUGMENT = {"shift": 0, "flip": False}

SECTIONS: Mapping[str, Document] = {
    "training": {
        "epochs": 30,
        "batch_size": 128,
        "optimizer": _OPTIMIZER,
        "schedule": _SCHEDULE,
        "augment": _AUGMENT,
        "seed": 0,
        "device": "auto",
        "precision": "float32",
    },
    "baseline": {"?optimizer": _OPTIMIZER, "?schedule": _SCHEDULE, "?augment": _AUGMENT},
    "recover": {
        "epochs": 10,
        "centroid_epochs": 1,
        "reestimate_batch_norm": True,
        "merge_batch_norm": False,
        "?distill": {"temperature": 4.0, "share": 0.9},
    },
}
"""What is left out of a section of a spec. A name with ``?`` is that of a part which need not be there."""

PARTS: Mapping[str, Mapping[str, Document]] = {
    "architecture": {},
    "transform": {},
    "method": {
        "cnet": {"lambda": 0.005, "decay": 0.001},
        "targeted_dropout": {"alpha": 0.66, "gamma": 0.75, "ramp": False, "ends": False},
    },
    "prune": {"magnitude": _PRUNER, "lamp": _PRUNER, "obd": _PRUNER},
    "quantize": {
        "kmeans": {"scope": "network", "clusters": [256]},
        "ecsq": {"scope": "network", "step": 0.25, "mu": 0.5, "states": 32, "sensitivity": 0.0},
        "uniform": {"scope": "network", "bits": [8]},
        "universal": {"step": 0.25, "dither": True, "seed": 0},
        "binary": {"scope": "layer"},
    },
    "encode": {"compact": {"other": "exact"}},
}
"""Sections that name a part, and what is left out of each; a part of which nothing else is said is its name alone."""

SAID: Mapping[str, str] = {"prune": "magnitude", "quantize": "kmeans", "encode": "compact"}
"""The parts of sections of which nothing is said, or nothing of the name."""


class Notes(StrictDocument):
    """The notes as they are in the manifest."""

    metrics: Annotated[tuple[JsonValue, ...], Field(min_length=len(METRICS + BASELINE))]
    quantize: JsonValue = None
    spec: dict[str, JsonValue]
    inputs: tuple[Digest | None, Digest | None]


def shortened(metrics: Document | None, extra: Document | None, columns: Columns) -> Document | None:
    """The notes' short form.

    Args:
        metrics: what a run says of its point, plain JSON.
        extra: its spec and the digests of its inputs (the first 32 hex digits, or None).
        columns: the bundle's tensors.

    Returns:
        what ``restored`` makes the same of; None for notes that are not a run's.
    """
    if metrics is None or extra is None or not _a_runs(metrics, extra):
        return None
    baseline, counts = metrics["baseline"], _counts(columns)
    values = [metrics[name] for name in METRICS] + [baseline[name] for name in BASELINE]
    if any(baseline[name] != counts[name] for name in COUNTS):
        values += [baseline[name] for name in COUNTS]
    short = {
        "metrics": values,
        "spec": _spec_less(extra["spec"]),
        "inputs": [_packed(extra["inputs"][name]) for name in ("weights", "dataset")],
    }
    if "quantize" in metrics:
        short["quantize"] = _part_less("quantize", metrics["quantize"])
    back = restored(Notes.model_validate_json(json.dumps(short)), columns)
    return short if _same(back, (metrics, extra)) else None


def restored(notes: Notes, columns: Columns) -> tuple[Document, Document]:
    """Metrics and extra of a run. Raises ValueError where there are too many or too few numbers."""
    count = len(METRICS) + len(BASELINE)
    if len(notes.metrics) not in {count, count + len(COUNTS)}:
        raise ValueError(f"a run's notes have {len(notes.metrics)} numbers")
    given = dict(zip(COUNTS, notes.metrics[count:], strict=True)) if notes.metrics[count:] else _counts(columns)
    baseline = {**dict(zip(BASELINE, notes.metrics[len(METRICS) : count], strict=True)), **given}
    ordered = ("accuracy", "loss", "raw_bytes", "npz_bytes", "compressible_npz_bytes", *COUNTS[1:])
    metrics: Document = dict(zip(METRICS, notes.metrics[: len(METRICS)], strict=True))
    if notes.quantize is not None:
        metrics["quantize"] = _part_whole("quantize", notes.quantize)
    metrics["baseline"] = {name: baseline[name] for name in ordered}
    weights, dataset = (_unpacked(digest) for digest in notes.inputs)
    return metrics, {"spec": _spec_whole(notes.spec), "inputs": {"weights": weights, "dataset": dataset}}


def _a_runs(metrics: Document, extra: Document) -> bool:
    """Whether the notes have the names of a run's, and digests that can be written in fewer characters."""
    if set(metrics) - {"quantize"} != {*METRICS, "baseline"} or set(extra) != {"spec", "inputs"}:
        return False
    if not isinstance(extra["spec"], dict):
        return False
    if not (_has(metrics["baseline"], {*BASELINE, *COUNTS}) and _has(extra["inputs"], {"weights", "dataset"})):
        return False
    return all(digest is None or _is_hex(digest) for digest in extra["inputs"].values())


def _has(document: Any, names: set[str]) -> bool:
    """Whether it is a document with just these names."""
    return isinstance(document, dict) and set(document) == names


def _counts(columns: Columns) -> dict[str, int]:
    """The net's numbers that follow from its tensors; tied ones count once."""
    rows = zip(columns.dtypes, columns.shapes, columns.roles, strict=True)
    own = [(dtypes.by_name(dtype).numpy.itemsize, math.prod(shape), role) for dtype, shape, role in rows]
    once = [(width, count, role) for width, count, role in own if role != "tied"]
    return {
        "raw_bytes": sum(width * count for width, count, _ in once),
        "parameters": sum(count for _, count, _ in once),
        "compressible_parameters": sum(count for _, count, role in once if role == "compressible"),
    }


def _spec_less(spec: Document) -> Document:
    short = {name: _section_less(name, section) for name, section in spec.items()}
    said = {name: short[name] for name in short if short[name] != SAID.get(name)}
    return {**said, **{name: None for name in SAID if name not in spec}}


def _spec_whole(short: Mapping[str, Any]) -> Document:
    said = {**{name: part for name, part in SAID.items() if name not in short}, **short}
    return {name: _section_whole(name, section) for name, section in said.items() if section is not None}


def _section_less(name: str, section: Any) -> Any:
    return _part_less(name, section) if name in PARTS else _less(section, SECTIONS.get(name, {}))


def _section_whole(name: str, section: Any) -> Any:
    return _part_whole(name, section) if name in PARTS else _whole(section, SECTIONS.get(name, {}))


def _part_less(kind: str, part: Any) -> Any:
    """A part less what its table says, and less its name where it is the usual one and there is more to say."""
    name = part.get("name") if isinstance(part, dict) else None
    if not isinstance(name, str):
        return part
    rest = _less({key: value for key, value in part.items() if key != "name"}, PARTS[kind].get(name, {}))
    if not rest:
        return name
    return rest if name == SAID.get(kind) else {"name": name, **rest}


def _part_whole(kind: str, short: Any) -> Any:
    if not isinstance(short, str | dict):
        return short
    part = {"name": short} if isinstance(short, str) else {"name": SAID.get(kind), **short}
    usual = PARTS[kind].get(part["name"], {}) if isinstance(part["name"], str) else {}
    return _whole(part, usual)


def _less(value: Any, usual: Document) -> Any:
    """A document less what is usual in it; null for what is usual and not there."""
    if not isinstance(value, dict):
        return value
    changed = {key: item for key, item in value.items() if key not in usual or not _same(item, usual[key])}
    short = {key: _less(item, _inner(usual, key)) for key, item in changed.items()}
    return {**short, **{key: None for key in usual if key[0] != "?" and key not in value}}


def _whole(short: Any, usual: Document) -> Any:
    """The document of which ``_less`` made ``short``."""
    if not isinstance(short, dict):
        return short
    said = {key: copy.deepcopy(item) for key, item in usual.items() if key[0] != "?" and key not in short}
    said |= {key: _whole(item, _inner(usual, key)) for key, item in short.items()}
    return {key: item for key, item in said.items() if item is not None}


def _inner(usual: Document, key: str) -> Document:
    inner = usual.get(key, usual.get(f"?{key}"))
    return inner if isinstance(inner, dict) else {}


def _same(one: Any, other: Any) -> bool:
    """Whether two documents are the same JSON, 1, 1.0 and true being three values."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _is_hex(digest: Any) -> bool:
    return isinstance(digest, str) and len(digest) == 32 and not set(digest) - set("0123456789abcdef")


def _packed(digest: str | None) -> str | None:
    return None if digest is None else base64.urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=").decode()


def _unpacked(digest: str | None) -> str | None:
    return None if digest is None else base64.urlsafe_b64decode(f"{digest}==").hex()
