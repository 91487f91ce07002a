"""The page on checkpoint formats says what is measured on real checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks import formats
from tests.real_files import real_file


@pytest.mark.real
def test_the_page_says_what_is_measured() -> None:
    """Where it differs: ``python -m benchmarks.formats --files FOLDER --write``."""
    assert formats.page(formats.tables(real_file("checkpoints"))) == formats.PAGE.read_text()


@pytest.mark.parametrize("row", formats.ROWS, ids=lambda row: row.title)
def test_every_format_keeps_a_small_network(row: formats.Row, tmp_path: Path) -> None:
    """In, out, through and into a module."""
    state = dict(torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.BatchNorm1d(30)).state_dict())

    read, written, passed, loaded = formats.Measurement(tmp_path).of(row, state)

    assert (read, passed, loaded) == (True, True, True)
    assert written is (None if row.load is None else True)


def test_a_format_that_loses_something_is_noticed(tmp_path: Path) -> None:
    """Here one that writes half-precision numbers."""
    state = dict(torch.nn.Linear(40, 30).state_dict())
    lossy = formats.Row("lossy", lambda state, path: torch.save({n: v.half() for n, v in state.items()}, path), "torch")

    assert formats.Measurement(tmp_path).of(lossy, state)[0] is False
