"""What docs/bundle-format.md says is so."""

from __future__ import annotations

import hashlib
import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from app.demo.decoding import TEN_LINES
from cnet.bundle.manifest_json import VERSION
from cnet.bundle.notes import DICTIONARY
from tests.golden.write import FOLDER, notes_of
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "bundle-format.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def dictionary_of_the_page() -> bytes:
    """The dictionary as a reader in another language gets it."""
    (block,) = (text for language, text in BLOCKS if language == "text")
    return "".join(block.splitlines()).encode()


def test_the_page_prints_the_dictionary_of_the_notes() -> None:
    """And its length and digest."""
    assert dictionary_of_the_page() == DICTIONARY
    assert f"{len(DICTIONARY):,} bytes" in PAGE
    assert hashlib.sha256(DICTIONARY).hexdigest() in PAGE


def test_the_page_prints_code_that_decodes() -> None:
    """The network with NumPy alone, then the notes with the dictionary of the page."""
    decoder, notes = (text for language, text in BLOCKS if language == "python")
    names: dict[str, Any] = {"DICTIONARY": dictionary_of_the_page()}
    for path in ("v1-npz-notes.npz", "v1-compact-notes.npz"):
        names["z"] = np.load(Path(FOLDER / path), allow_pickle=False)
        exec("import json\n" + notes, names)  # noqa: S102 - the lines of the page
        names["z"].close()
        metrics, extra = notes_of("v1-npz-notes")

        assert names["notes"] == {"metrics": metrics, "extra": extra}
    assert decoder == TEN_LINES


def test_the_page_names_files_and_modules_that_exist() -> None:
    """Where the encoders and the packing of tensors are specified."""
    for path in re.findall(r"`(cnet/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"`(cnet\.coding[\w.]+)`", PAGE):
        assert importlib.import_module(module).__doc__


def test_the_page_specifies_the_version_that_is_written() -> None:
    """There is one."""
    assert PAGE.startswith(f"# The bundle's format, version {VERSION}\n")
