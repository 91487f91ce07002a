"""The rule that finds the dict of weights in what a training script saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from cnet.formats import read_checkpoint
from tests.unit.cnet.formats.files import names, refusal, saved

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


class _Packed(torch.nn.Module):
    """A stand-in for what dynamic quantization leaves: the weight of a layer is inside a tuple."""

    def get_extra_state(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The packed parameters."""
        return torch.ones(4, 4), torch.zeros(4)

    def set_extra_state(self, state: object) -> None:
        """Nothing: it is only saved."""


@pytest.mark.parametrize("nested", [False, True])
def test_tensors_inside_tuples_and_lists_are_not_lost(tmp_path: Path, nested: bool) -> None:
    """Packed weights are refused by the name of their entry, with the remedy, at any depth of tuples."""
    packed = ((torch.ones(4, 4), None), torch.float32) if nested else [torch.ones(4, 4)]
    for value in ({**NET, "fc._packed_params": packed}, {"state_dict": {**NET, "fc._packed_params": packed}}):
        for key in (None, "state_dict" if "state_dict" in value else ""):
            error = refusal(saved(tmp_path, value), weights_key=key)
            assert error.code == "unsupported_layout"
            assert "'fc._packed_params'" in error.detail
            assert "before it was quantized" in error.detail
    error = refusal(saved(tmp_path, torch.nn.Sequential(_Packed(), torch.nn.Linear(2, 2)).state_dict()))
    assert (error.code, "'0._extra_state'" in error.detail) == ("unsupported_layout", True)
    assert refusal(saved(tmp_path, {"weights": [torch.ones(2, 2)]})).code == "unsupported_layout"


def test_lists_of_tensors_beside_the_weights_are_told(tmp_path: Path) -> None:
    """A list beside the entry of the weights is not lost silently; an optimizer's is nobody's weights."""
    value = {"state_dict": NET, "codebooks": [torch.ones(2)], "optimizer_states": [{"state": torch.ones(2)}]}

    (notice,) = read_checkpoint(saved(tmp_path, value)).warnings

    assert notice.code == "ignored_entries"
    assert "'codebooks'" in notice.detail
    assert "optimizer" not in notice.detail


def test_a_part_of_a_distributed_checkpoint_names_the_converter(tmp_path: Path) -> None:
    """A .distcp file begins with a single tensor."""
    error = refusal(saved(tmp_path, torch.ones(4, 4)))

    assert error.code == "not_a_state_dict"
    assert "dcp_to_torch" in error.detail


def test_a_checkpoint_of_lightning_is_its_state_dict(tmp_path: Path) -> None:
    """Counters, optimizers, callbacks and settings are other things, also where they hold tensors."""
    value = {
        "epoch": 3,
        "global_step": 100,
        "pytorch-lightning_version": "2.5.0",
        "state_dict": {f"model.{name}": tensor for name, tensor in NET.items()},
        "loops": {"fit_loop": {"state_dict": {}}},
        "callbacks": {"ModelCheckpoint{'monitor': None}": {"best_model_score": torch.tensor(0.5)}},
        "optimizer_states": [{"state": {0: {"exp_avg": torch.ones(2, 2)}}, "param_groups": [{"lr": 1e-3}]}],
        "lr_schedulers": [{"last_epoch": 3}],
        "hparams_name": "kwargs",
        "hyper_parameters": {"width": 16},
    }

    checkpoint = read_checkpoint(saved(tmp_path, value))

    assert (checkpoint.weights_key, checkpoint.warnings) == ("state_dict", ())
    assert names(checkpoint) == [f"model.{name}" for name in NET]
