"""Notes of a bundle's writer: they come back, take few bytes, and few bytes make no large notes."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.bundle import open_bundle, write_bundle
from cnet.bundle.notes import DICTIONARY, MOST_BYTES, pack_notes, unpack_notes
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.weights import Weights
from tests.golden.write import notes_of
from tests.unit.cnet.bundle.forging import forged, set_value
from tests.unit.cnet.bundle.small_nets import LAYOUTS, content_of, net
from tests.unit.cnet.nets import compress, tensor

Document = dict[str, Any]


def run_notes() -> tuple[Document, Document]:
    """What a run notes."""
    return notes_of("v1-compact-notes")


def packed(text: bytes) -> str:
    """Any bytes as notes are packed."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=DICTIONARY)
    return base64.urlsafe_b64encode(deflater.compress(text) + deflater.flush()).rstrip(b"=").decode()


def test_the_dictionary_never_changes() -> None:
    """It is a part of format version 1: with another one, no bundle could be read."""
    digest = "fe92e36c0f62002f6cd0cf3ca1f4dd8deb55b295a904a0b035ec750b5202b4d1"

    assert hashlib.sha256(DICTIONARY).hexdigest() == digest
    assert DICTIONARY.isascii()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.none() | st.dictionaries(st.text(max_size=9), json_values, max_size=4)


@settings(max_examples=200, deadline=None)
@given(json_objects, json_objects)
def test_any_notes_round_trip(metrics: Document | None, extra: Document | None) -> None:
    """The same JSON, 1, 1.0 and true being three values."""
    text = pack_notes(metrics, extra)
    found = (None, None) if text is None else (unpack_notes(text).metrics, unpack_notes(text).extra)

    assert (text is None) == (metrics is None and extra is None)
    assert json.dumps(found) == json.dumps((metrics, extra))


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_a_run_s_notes_take_less_than_240_bytes(tmp_path: Path, encoder: str) -> None:
    """Of which the two digests of its inputs alone are 32 bytes of noise."""
    layers = {"conv1": (20, 1, 5, 5), "conv2": (50, 20, 5, 5), "fc1": (500, 800), "fc2": (10, 500)}
    tensors = [tensor(f"{name}.weight", "float32", shape) for name, shape in layers.items()]
    weights = Weights.select([*tensors, *(tensor(f"{name}.bias", "float32", s[:1]) for name, s in layers.items())])
    symbols = compress(weights, 0.98, None)
    bare = write_bundle(tmp_path / "bare.npz", weights, symbols, ENCODERS.create(encoder))
    full = write_bundle(tmp_path / "full.npz", weights, symbols, ENCODERS.create(encoder), *run_notes())

    assert full.container - bare.container < 240
    assert (full.mask, full.labels, full.other_tensors) == (bare.mask, bare.labels, bare.other_tensors)


def test_notes_that_would_not_be_read_are_not_written() -> None:
    """They may have as many bytes as a reader inflates."""
    with pytest.raises(BundleError, match="Use fewer"):
        pack_notes({"x": "y" * MOST_BYTES}, None)


def test_notes_that_inflate_beyond_the_limit_are_refused() -> None:
    """Inflating stops at the largest size that a writer writes."""
    bomb = packed(b'{"extra":{"x":"' + b"0" * (4 * MOST_BYTES) + b'"}}')

    assert len(bomb) < MOST_BYTES / 100
    with pytest.raises(BundleError, match="longer than"):
        unpack_notes(bomb)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"metrics":3}',
        b'{"more":{}}',
        b'{"metrics":{"x":NaN}}',
        b'{"metrics":{"x":1e999}}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_notes_of_another_form_are_refused(text: bytes) -> None:
    """They are one object with metrics and extra, in strict JSON."""
    with pytest.raises(BundleError, match="notes cannot be read"):
        unpack_notes(packed(text))


@pytest.mark.parametrize("text", ["", "A", "?", "ü", "AAAA", "====", packed(b"{}") + "AAAA", packed(b"{}")[:-1]])
def test_text_that_does_not_encode_notes_is_refused(text: str) -> None:
    """Neither base64 nor one whole deflate stream."""
    with pytest.raises(BundleError, match="notes cannot be read"):
        unpack_notes(text)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_forged_notes_are_read_or_refused(data: st.DataObject) -> None:
    """Whatever characters are changed, nothing but BundleError comes of it."""
    text = list(copy.copy(pack_notes(*run_notes()) or ""))
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from("AZaz09-_"))
    try:
        unpack_notes("".join(text))
    except BundleError as error:
        assert "notes cannot be read" in str(error)  # noqa: PT017 - most changes are refused, and not all


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_a_bundle_with_forged_notes_is_refused(tmp_path: Path, encoder: str) -> None:
    """When it is opened."""
    content = content_of(tmp_path, encoder, net(), metrics={"accuracy": 91.5})
    with pytest.raises(BundleError, match="notes cannot be read"):
        open_bundle(forged(content, set_value("notes", packed(b"[]"))))
