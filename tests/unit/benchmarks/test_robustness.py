"""The benchmark of damaged files damages files of every format, and notices what a reader may not do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.robustness.dataset_files import csv, idx
from benchmarks.robustness.kinds import KINDS
from benchmarks.robustness.mutations import mutated
from cnet.data import DATASET_FORMATS
from cnet.formats import FORMATS
from tests.repository import ROOT

WATCHED = """
import os, socket, sys, time
from pathlib import Path
from benchmarks.robustness.child import answer_files
from benchmarks.robustness.kinds import Kind
from cnet.errors import DatasetError

def refuse(path):
    raise DatasetError("line one\\nline two")

uses = {
    "nothing": lambda path: None,
    "a process": lambda path: os.system("true"),
    "a file": lambda path: Path("made").touch(),
    "a connection": lambda path: socket.socket(),
    "an exception": lambda path: 1 / 0,
    "an unreadable refusal": refuse,
}
answer_files(Kind(None, uses[sys.argv[1]]), Path(sys.argv[2]), range(3), 0)
"""


def test_every_format_has_its_files() -> None:
    """A format that is added is damaged too."""
    assert set(FORMATS.names()) <= set(KINDS)
    assert {f"dataset {name}" for name in DATASET_FORMATS.names()} <= set(KINDS)


@pytest.mark.parametrize("number", range(20))
def test_a_mutation_depends_on_its_number_alone(tmp_path: Path, number: int) -> None:
    """And it changes the file."""
    for content in (*csv(tmp_path), *idx(tmp_path)):
        first, second = (mutated(content, np.random.default_rng([3, number])) for _ in range(2))
        assert first == second
        assert isinstance(first, bytes)


@pytest.mark.parametrize(
    ("use", "outcome"),
    [
        ("nothing", "read"),
        ("a process", "exception"),
        ("a file", "exception"),
        ("a connection", "exception"),
        ("an exception", "exception"),
        ("an unreadable refusal", "exception"),
    ],
)
def test_what_a_reader_may_not_do_is_noticed(tmp_path: Path, use: str, outcome: str) -> None:
    """Whatever a reader does, each file has one line."""
    (tmp_path / "000").write_bytes(b"1,2,3\n")
    command = [sys.executable, "-c", WATCHED, use, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["file"], line["outcome"]) for line in lines] == [(number, outcome) for number in range(3)]


def test_counts_are_printed_and_kept(tmp_path: Path) -> None:
    """A second run takes the finished parts."""
    command = [sys.executable, "-m", "benchmarks.robustness", "--files", "40", "--only", "dataset csv"]
    command += ["--state", str(tmp_path)]
    first, second = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout for _ in range(2)
    )

    assert first.partition("(")[0] == second.partition("(")[0]
    assert len(list((tmp_path / "done").iterdir())) == 1
