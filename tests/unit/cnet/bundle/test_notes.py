"""What a run notes in a bundle comes back whole, and takes few bytes."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.bundle import notes, open_bundle, write_bundle
from cnet.bundle.container import Reader
from cnet.bundle.manifest import columns_of
from cnet.bundle.notes import BASELINE, COUNTS, METRICS, Notes, restored, shortened
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.methods import METHODS
from cnet.pipeline.digests import spec_document
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.spec import JobSpec
from cnet.weights import Weights
from tests.golden.write import notes_of
from tests.unit.cnet.bundle.forging import forged_joined
from tests.unit.cnet.nets import compress, every_type, tensor

Document = dict[str, Any]

COMPACT = ENCODERS.create("compact")

TABLES = "eafb783c821bccde80d82608961d01ee80e438d3e2cccd4603b576633520f124"

TRAINED: Document = {"architecture": {"name": "lenet5"}, "dataset": "ds_1", "checkpoint": "ckpt_1"}


def lenet5() -> Weights:
    """A net of LeNet-5's names, types and shapes."""
    layers = {"conv1": (20, 1, 5, 5), "conv2": (50, 20, 5, 5), "fc1": (500, 800), "fc2": (10, 500)}
    tensors = [
        tensor(f"{name}.{part}", "float32", full if part == "weight" else full[:1])
        for name, full in layers.items()
        for part in ("weight", "bias")
    ]
    return Weights.select(tensors)


def golden() -> tuple[Document, Document]:
    """A run's notes."""
    return notes_of("v3-compact-notes")


def back(metrics: Document, extra: Document, weights: Weights) -> tuple[Document, Document]:
    """The notes after the way through their short form, which there must be."""
    columns = columns_of(weights)
    short = shortened(metrics, extra, columns)
    assert short is not None
    return restored(Notes.model_validate_json(json.dumps(short)), columns)


def equal(one: Any, other: Any) -> bool:
    """Whether two documents are the same JSON text, names in order."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def test_the_tables_never_change() -> None:
    """They are a part of format version 3: old bundles leave out what they say."""
    names = ("METRICS", "BASELINE", "COUNTS", "SECTIONS", "PARTS", "SAID")
    text = json.dumps([getattr(notes, name) for name in names], sort_keys=True)

    assert hashlib.sha256(text.encode()).hexdigest() == TABLES


def test_what_a_bundle_says_outlives_the_defaults_of_a_product() -> None:
    """A spec is told against the tables: this form means this spec in every release."""
    spec = {"method": "cnet", "training": {"device": "cpu"}, "prune": {"sparsity": [0.98], "gradual": {}}}
    short = {"metrics": [0] * 13, "spec": spec, "inputs": [None, None]}

    _, extra = restored(Notes.model_validate_json(json.dumps(short)), columns_of(lenet5()))

    assert extra["spec"] == {
        "method": {"name": "cnet", "lambda": 0.005, "decay": 0.001},
        "training": {
            "epochs": 30,
            "batch_size": 128,
            "optimizer": {
                "name": "adam",
                "learning_rate": 0.003,
                "momentum": 0.9,
                "weight_decay": 0.0,
                "nesterov": False,
            },
            "schedule": {"name": "constant", "milestones": [], "gamma": 0.1, "warmup_epochs": 0},
            "augment": {"shift": 0, "flip": False},
            "seed": 0,
            "device": "cpu",
            "precision": "float32",
        },
        "prune": {
            "name": "magnitude",
            "sparsity": [0.98],
            "scope": "network",
            "floor": 0.0,
            "gradual": {"epochs": 10, "start": 0.0, "rise": 0.75, "steps": 100},
        },
        "quantize": {"name": "kmeans", "scope": "network", "clusters": [256]},
        "encode": {"name": "compact", "other": "exact"},
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"checkpoint": "ckpt_1"},
        {"checkpoint": "ckpt_1", "target": {"max_bytes": 1000}},
        TRAINED,
        {**TRAINED, "checkpoint": None, "baseline": {"epochs": 3, "schedule": {"name": "cosine"}}},
        {**TRAINED, "recover": {"distill": {"temperature": 2.0}}, "preprocess": {"mean": [0.5], "std": [0.25]}},
        {**TRAINED, "target": {"max_accuracy_drop": 1.0}},
        *({**TRAINED, "method": {"name": name}} for name in METHODS.names()),
        *({**TRAINED, "prune": {"name": name, "sparsity": [0.5, 0.75]}} for name in PRUNERS.names()),
        *({**TRAINED, "quantize": {"name": name}} for name in QUANTIZERS.names()),
        *({**TRAINED, "encode": {"name": name}} for name in ENCODERS.names()),
        {**TRAINED, "transform": {"name": "low_rank", "rank": 0.5}},
    ],
)
def test_the_spec_of_every_part_comes_back(spec: Document) -> None:
    """Whatever a job may say is in the short form, and that is shorter."""
    metrics, extra = golden()
    extra["spec"] = spec_document(JobSpec.parse({key: value for key, value in spec.items() if value is not None}))

    assert equal(back(metrics, extra, lenet5()), (metrics, extra))
    assert len(json.dumps(shortened(metrics, extra, columns_of(lenet5())))) < len(json.dumps([metrics, extra])) / 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def paths(document: Any, start: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value of a document but the whole."""
    if not isinstance(document, dict):
        return []
    found = [(*start, key) for key in document]
    return found + [path for key, value in document.items() for path in paths(value, (*start, key))]


@st.composite
def changed_notes(draw: st.DrawFn) -> tuple[Document, Document]:
    """A run's notes with some values changed, some gone, and some that no run has."""
    notes = list(copy.deepcopy(golden()))
    for _ in range(draw(st.integers(0, 4))):
        document = draw(st.sampled_from([note for note in notes if note]))
        *parents, last = draw(st.sampled_from(paths(document)))
        for key in parents:
            document = document[key]
        how = draw(st.integers(0, 2))
        if how == 0:
            del document[last]
        else:
            names = st.sampled_from(["?gradual", "name", "epochs"]) | st.text(max_size=4)
            document[last if how == 1 else draw(names)] = draw(json_values)
    return notes[0], notes[1]


@settings(max_examples=300, deadline=None)
@given(changed_notes())
def test_notes_come_back_the_same_or_are_not_shortened(notes: tuple[Document, Document]) -> None:
    """No value is lost or changed, nor 1 taken for 1.0 or true, whatever is there."""
    columns = columns_of(lenet5())
    short = shortened(*notes, columns)

    if short is not None:
        assert equal(restored(Notes.model_validate_json(json.dumps(short)), columns), notes)


@settings(max_examples=30, deadline=None)
@given(changed_notes())
def test_a_bundle_gives_back_its_notes(
    tmp_path_factory: pytest.TempPathFactory, notes: tuple[Document, Document]
) -> None:
    """In the short form or whole, a reader of the file gets what was written."""
    weights, path = every_type(), tmp_path_factory.mktemp("notes") / "b.npz"
    write_bundle(path, weights, compress(weights, 0.5, 4), COMPACT, *notes)
    bundle = open_bundle(path)

    assert equal((bundle.metrics, bundle.manifest["extra"]), notes)
    assert "notes" not in bundle.manifest


def test_counts_that_follow_from_the_tensors_are_not_written() -> None:
    """Bytes and parameters of a net that kept its tensors are counted on them, tied ones once; others are told."""
    weights, (metrics, extra) = every_type(), golden()
    own = {name: getattr(weights, name) for name in COUNTS}
    written = shortened(metrics, extra, columns_of(weights))
    metrics["baseline"] |= own
    counted = shortened(metrics, extra, columns_of(weights))

    assert written is not None
    assert counted is not None
    assert len(written["metrics"]) == len(METRICS + BASELINE + COUNTS)
    assert len(counted["metrics"]) == len(METRICS + BASELINE)
    assert back(metrics, extra, weights)[0]["baseline"] == metrics["baseline"]


def test_a_runs_notes_take_less_than_270_bytes(tmp_path: Path) -> None:
    """Of which the two digests alone are 32 bytes of noise."""
    weights, (metrics, extra) = lenet5(), golden()
    del metrics["quantize"]
    metrics["baseline"] |= {name: getattr(weights, name) for name in COUNTS}
    extra["spec"] |= {"quantize": {"name": "none"}}
    extra["spec"]["prune"]["sparsity"] = [0.98]
    symbols = compress(weights, 0.98, None)

    bare = write_bundle(tmp_path / "bare.npz", weights, symbols, COMPACT)
    full = write_bundle(tmp_path / "full.npz", weights, symbols, COMPACT, metrics, extra)

    assert full.container - bare.container < 270
    assert (full.mask, full.labels, full.other_tensors) == (bare.mask, bare.labels, bare.other_tensors)


def test_other_notes_stay_as_they_are(tmp_path: Path) -> None:
    """What is no run's is in the manifest as the writer gave it, for any reader of JSON."""
    weights = every_type()
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), COMPACT, {"accuracy": 91.5}, {"by": "hand"})
    document = json.loads(Reader(tmp_path / "b.npz").manifest)

    assert (document["metrics"], document["extra"]) == ({"accuracy": 91.5}, {"by": "hand"})
    assert "notes" not in document


def _change(name: str, value: Any) -> Any:
    return lambda document: document["notes"].update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        _change("metrics", [0] * 12),
        _change("metrics", [0] * 14),
        _change("metrics", [0] * 17),
        _change("metrics", None),
        _change("spec", "lenet5"),
        _change("inputs", ["a", "b"]),
        _change("inputs", [None]),
        _change("more", 1),
        lambda document: document.update(metrics={"accuracy": 100}),
        lambda document: document.update(extra={}),
    ],
)
def test_notes_that_cannot_be_are_refused(tmp_path: Path, change: Any) -> None:
    """Too few numbers, digests that are none, notes told twice."""
    weights = every_type()
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), COMPACT, *golden())
    content = forged_joined((tmp_path / "b.npz").read_bytes(), change)
    with pytest.raises(BundleError, match=r"manifest is not valid: .*(notes|digest|numbers)"):
        open_bundle(content)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["prune", "training", "method", "quantize", "x"]), json_values), json_values)
def test_any_forged_spec_is_read_or_refused(spec: Document, part: Any) -> None:
    """Whatever JSON stands in the place of a spec or a quantizer, nothing but ValueError comes of it."""
    short = {"metrics": [0] * 13, "quantize": part, "spec": spec, "inputs": [None, None]}
    metrics, extra = restored(Notes.model_validate_json(json.dumps(short)), columns_of(lenet5()))

    assert set(METRICS) <= set(metrics)
    assert {name for name, value in spec.items() if value is not None} <= set(extra["spec"])


def test_notes_are_the_readers_own(tmp_path: Path) -> None:
    """Writing into what was read changes no later reading."""
    weights = every_type()
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), COMPACT, *golden())
    bundle = open_bundle(tmp_path / "b.npz")
    bundle.manifest["extra"]["spec"]["training"]["optimizer"]["learning_rate"] = np.inf

    assert (bundle.metrics, bundle.manifest["extra"]) == golden()
