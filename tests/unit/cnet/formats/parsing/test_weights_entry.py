"""The rule that finds the dict of weights in what a training script saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from cnet.formats import read_checkpoint
from tests.unit.cnet.formats.files import refusal, saved

NET = {"conv.weight": torch.ones(2, 1, 3, 3), "fc.bias": torch.zeros(2)}
OTHER = {name: tensor + 1 for name, tensor in NET.items()}


def test_a_flat_dict_is_the_weights(tmp_path: Path) -> None:
    """There is no key and no warning."""
    checkpoint = read_checkpoint(saved(tmp_path, NET))
    assert (checkpoint.weights_key, checkpoint.warnings) == (None, ())


@pytest.mark.parametrize(
    "key", ["state_dict", "model_state_dict", "model", "module", "net", "weights", "params", "ema", "generator"]
)
def test_a_named_entry_is_found_beside_the_optimizer(tmp_path: Path, key: str) -> None:
    """Counters and the state of the optimizer are not weights."""
    optimizer = {"state": {0: {"exp_avg": torch.ones(50)}}, "param_groups": [{"lr": 0.1}]}
    checkpoint = read_checkpoint(saved(tmp_path, {"epoch": 3, key: NET, "optimizer": optimizer, "best": 0.9}))
    assert checkpoint.weights_key == key
    assert checkpoint.weights.parameters == 20


def test_a_lightning_checkpoint_is_read(tmp_path: Path) -> None:
    """Its other entries hold tensors, too."""
    value = {
        "epoch": 1,
        "pytorch-lightning_version": "2.0",
        "state_dict": NET,
        "loops": {"fit_loop": {"state_dict": {"x": torch.ones(1)}}},
        "callbacks": {"ModelCheckpoint{'monitor': None}": {"best_model_score": torch.tensor(0.5)}},
        "optimizer_states": [{"state": {0: {"exp_avg": torch.ones(2)}}}],
        "lr_schedulers": [{"last": torch.ones(1)}],
        "hyper_parameters": {"lr": 0.1, "weights": {"class": torch.ones(10)}},
    }
    assert read_checkpoint(saved(tmp_path, value)).weights_key == "state_dict"


def test_a_nested_entry_is_reported_with_dots(tmp_path: Path) -> None:
    """The path from the top level."""
    assert (
        read_checkpoint(saved(tmp_path, {"run": {"model": {"state_dict": NET}}})).weights_key == "run.model.state_dict"
    )


def test_two_sets_that_differ_are_ambiguous(tmp_path: Path) -> None:
    """A model and its moving average: the message has the keys from which the user chooses."""
    path = saved(tmp_path, {"model": NET, "ema": OTHER})
    error = refusal(path)
    assert error.code == "ambiguous_weights"
    assert "'model'" in error.detail
    assert "'ema'" in error.detail
    chosen = read_checkpoint(path, weights_key="ema")
    assert chosen.weights_key == "ema"
    assert chosen.weights["fc.bias"].data.tolist() == [1.0, 1.0]


def test_a_flat_dict_with_an_average_beside_it_is_ambiguous(tmp_path: Path) -> None:
    """The empty key names the top level."""
    path = saved(tmp_path, {**NET, "ema": OTHER})
    assert refusal(path).code == "ambiguous_weights"
    assert read_checkpoint(path, weights_key="").weights["fc.bias"].data.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("copied", [True, False])
def test_two_sets_with_equal_values_count_once(tmp_path: Path, copied: bool) -> None:
    """Whether or not they share storages."""
    again = {name: tensor.clone() for name, tensor in NET.items()} if copied else dict(NET)
    checkpoint = read_checkpoint(saved(tmp_path, {"model": NET, "state_dict": again}))
    assert checkpoint.weights_key == "model"
    assert [warning.code for warning in checkpoint.warnings] == ["equal_weights"]


def test_two_unknown_entries_are_ambiguous(tmp_path: Path) -> None:
    """Two parts of a network are not joined."""
    path = saved(tmp_path, {"encoder": NET, "decoder": OTHER})
    assert refusal(path).code == "ambiguous_weights"


def test_a_loose_tensor_beside_a_named_entry_is_left_out(tmp_path: Path) -> None:
    """Such as an epoch counter that is a tensor."""
    checkpoint = read_checkpoint(saved(tmp_path, {"epoch": torch.tensor(3), "state_dict": NET}))
    assert checkpoint.weights_key == "state_dict"


def test_extras_in_a_flat_dict_are_left_out_with_a_warning(tmp_path: Path) -> None:
    """Tensors are kept, other values are named in the warning."""
    checkpoint = read_checkpoint(saved(tmp_path, {**NET, "epoch": 3, "optimizer": {"w": torch.ones(9)}}))
    assert checkpoint.weights.parameters == 20
    (warning,) = checkpoint.warnings
    assert warning.code == "ignored_entries"
    assert "'epoch'" in warning.detail


@pytest.mark.parametrize("key", ["nothing", "epoch", "state_dict.conv", "state_dict.conv.weight"])
def test_a_weights_key_that_names_no_dict_of_tensors_is_refused(tmp_path: Path, key: str) -> None:
    """The message has the entries that exist."""
    error = refusal(saved(tmp_path, {"state_dict": NET, "epoch": 3}), weights_key=key)
    assert error.code == "not_a_state_dict"


def test_a_weights_key_may_have_dots_in_its_parts(tmp_path: Path) -> None:
    """Dots separate keys, or are part of them."""
    path = saved(tmp_path, {"a.b": {"c.d": NET}, "model": OTHER})
    assert read_checkpoint(path, weights_key="a.b.c.d").weights_key == "a.b.c.d"


@pytest.mark.parametrize(
    "value", [torch.ones(3), [torch.ones(3)], {}, {"epoch": 3}, "text", None, {"model": {}}], ids=repr
)
def test_files_without_named_tensors_are_refused(tmp_path: Path, value: Any) -> None:
    """A bare tensor, a list, an empty dict."""
    error = refusal(saved(tmp_path, value))
    assert error.code == "not_a_state_dict"
    assert "state_dict" in error.detail
