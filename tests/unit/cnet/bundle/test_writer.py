"""Writing bundles: whole or not at all, and notes that are added later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cnet.bundle import add_notes, open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.symbols import Symbols
from cnet.weights import Weights
from tests.golden.write import FOLDER, local_net, net

RUN_METRICS, RUN_EXTRA = json.loads((FOLDER / "notes.json").read_text())

NOTES = [
    pytest.param(None, None, id="none"),
    pytest.param({"accuracy": 91.5}, None, id="metrics"),
    pytest.param(None, {"größe": [1, None]}, id="extra"),
    pytest.param(RUN_METRICS, RUN_EXTRA, id="those of a run"),
]

NETS = [
    pytest.param(net(), id="plain"),
    pytest.param(local_net("dither"), id="dither"),
    pytest.param(local_net("scales"), id="scales"),
]


@pytest.mark.parametrize("encoder", ENCODERS.names())
@pytest.mark.parametrize(("metrics", "extra"), NOTES)
@pytest.mark.parametrize("network", NETS)
def test_notes_added_later_give_the_bytes_of_notes_written_at_once(
    tmp_path: Path,
    network: tuple[Weights, Symbols],
    metrics: dict[str, Any] | None,
    extra: dict[str, Any] | None,
    encoder: str,
) -> None:
    """Whatever notes the file had before, and whichever encoder wrote it."""
    at_once, later = tmp_path / "at-once.npz", tmp_path / "later.npz"
    sizes = write_bundle(at_once, *network, ENCODERS.create(encoder), metrics, extra)
    write_bundle(later, *network, ENCODERS.create(encoder))

    add_notes(later, {"accuracy": 0.5}, {"long": "x" * 5000})
    added = add_notes(later, metrics, extra)

    assert later.read_bytes() == at_once.read_bytes()
    assert added == sizes
    open_bundle(later).verify()


def test_notes_that_json_cannot_hold_leave_the_bundle_as_it_was(tmp_path: Path) -> None:
    """They are refused before the file is touched."""
    path = tmp_path / "bundle.npz"
    write_bundle(path, *net(), ENCODERS.create("npz"), {"accuracy": 91.5})
    before = path.read_bytes()

    with pytest.raises(BundleError):
        add_notes(path, {"accuracy": float("nan")}, None)

    assert path.read_bytes() == before
