"""Specifications from files and options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from app.commands.jobspec import Choices


def test_options_alone_make_a_specification() -> None:
    """Slots by their defaults' names."""
    choices = Choices(sparsity=[0.9], clusters=[16, 256], encode="npz", method="none")

    assert choices.document() == {
        "prune": {"name": "magnitude", "sparsity": [0.9]},
        "quantize": {"name": "kmeans", "clusters": [16, 256]},
        "encode": {"name": "npz"},
        "method": {"name": "none"},
    }


def test_an_option_wins_over_the_file(tmp_path: Path) -> None:
    """Of a part that is named anew, the old one's parameters go; others stay."""
    file = tmp_path / "job.json"
    document = {
        "method": {"name": "cnet", "lambda": 0.1},
        "prune": {"name": "magnitude", "sparsity": 0.5},
        "training": {"epochs": 3},
    }
    file.write_text(json.dumps(document))

    same = Choices(spec=file, sparsity=[0.7], method="cnet").document()
    other = Choices(spec=file, method="none", dataset="digits").document()

    assert same == {**document, "prune": {"name": "magnitude", "sparsity": [0.7]}}
    assert other == {**document, "method": {"name": "none"}, "dataset": "digits"}


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "[" * 100_000])
def test_a_file_without_a_json_object_is_a_usage_error(tmp_path: Path, text: str) -> None:
    """The file's name is in the message."""
    file = tmp_path / "job.json"
    file.write_text(text)

    with pytest.raises(typer.BadParameter, match=r"job\.json"):
        Choices(spec=file).document()
