"""The benchmark of the training step runs, and notices a wrong loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

import pytest
import torch

from benchmarks import training
from cnet.methods import Method, MethodHooks, StepContext

SMALL = ["--architecture", "lenet300_100", "--batch-size", "4", "--rounds", "2", "--warmup", "1", "--device", "cpu"]


def test_the_benchmark_prints_a_table_and_json() -> None:
    """There is a row for each variant, relative to the plain one."""
    lines: list[str] = []
    training.main(SMALL, lines.append)
    training.main([*SMALL, "--json"], lines.append)
    assert [row.split()[1] for row in lines[0].splitlines()[4:8]] == [*("plain", "cnet", "concatenated", "exported")]
    assert "The step of the exported network takes" in lines[0]
    figures = json.loads(lines[1])
    assert figures["against_plain"]["plain"] == 1
    assert figures["gradient_difference"] < 1e-4


def test_variants_can_be_left_out() -> None:
    """The plain step, to which the others are compared, is always timed."""
    lines: list[str] = []
    training.main([*SMALL, "--variants", "exported", "--json"], lines.append)
    assert list(json.loads(lines[0])["milliseconds"]) == ["plain", "exported"]


class Wrong(Method):
    """A method whose loss is half as large as it should be."""

    name: Literal["wrong"] = "wrong"

    def hooks(self) -> MethodHooks:
        """The wrong loss."""
        return WrongHooks(self)


class WrongHooks(MethodHooks):
    """Half of the compressibility loss."""

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], context: StepContext) -> torch.Tensor | None:
        """Half of it."""
        right = training.VARIANTS["concatenated"]
        assert right is not None
        found = right.hooks().penalty(weights, context)
        return None if found is None else found / 2


def test_a_wrong_loss_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error before any step is timed."""
    monkeypatch.setitem(training.VARIANTS, "cnet", Wrong())
    with pytest.raises(AssertionError):
        training.main(SMALL, list[str]().append)
