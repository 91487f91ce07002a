"""The canonical names of tensors: text, without the prefixes of wrappers."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch

from cnet.formats import read_checkpoint
from tests.unit.cnet.formats.files import names, refusal, saved

NET = {"conv.weight": torch.ones(2, 1, 3, 3), "fc.bias": torch.zeros(2)}


@pytest.mark.parametrize(
    ("prefix", "stripped"),
    [("module.", "module."), ("module._orig_mod.", "module._orig_mod."), ("_orig_mod.module.", "_orig_mod.module.")],
)
def test_prefixes_that_all_names_have_are_stripped(tmp_path: Path, prefix: str, stripped: str) -> None:
    """Also several prefixes; the checkpoint states what was cut, and they can be kept."""
    path = saved(tmp_path, {"state_dict": OrderedDict((prefix + name, tensor) for name, tensor in NET.items())})
    checkpoint = read_checkpoint(path)
    assert checkpoint.stripped_prefix == stripped
    assert names(checkpoint) == list(NET)
    kept = read_checkpoint(path, strip_prefix=False)
    assert kept.stripped_prefix is None
    assert names(kept) == [prefix + name for name in NET]


def test_a_child_called_module_is_not_a_prefix(tmp_path: Path) -> None:
    """A network with children ``module`` and ``head``, or with the name in the middle, keeps its names."""
    value = {"module.weight": torch.ones(2), "head.weight": torch.ones(2), "features.module.0": torch.ones(1)}
    checkpoint = read_checkpoint(saved(tmp_path, value))
    assert checkpoint.stripped_prefix is None
    assert names(checkpoint) == list(value)


def test_a_prefix_that_is_a_whole_name_is_not_stripped(tmp_path: Path) -> None:
    """No name becomes the empty text."""
    checkpoint = read_checkpoint(saved(tmp_path, {"module.module.": torch.ones(2)}))
    assert names(checkpoint) == ["module."]


def test_a_number_and_the_same_number_as_text_are_refused(tmp_path: Path) -> None:
    """One of the two tensors would be lost."""
    assert refusal(saved(tmp_path, {0: torch.ones(2), "0": torch.zeros(2)})).code == "duplicate_name"


def test_numbers_become_names(tmp_path: Path) -> None:
    """A warning lists them."""
    checkpoint = read_checkpoint(saved(tmp_path, {0: torch.ones(2), 1: torch.zeros(2)}))
    assert names(checkpoint) == ["0", "1"]
    assert [warning.code for warning in checkpoint.warnings] == ["number_names"]


@pytest.mark.parametrize("key", [None, 1.5, ("a", 1), True], ids=repr)
def test_other_keys_are_refused(tmp_path: Path, key: Any) -> None:
    """A name must be text."""
    assert refusal(saved(tmp_path, {key: torch.ones(2)})).code == "not_a_state_dict"


def test_a_name_that_the_canonical_form_needs_is_refused(tmp_path: Path) -> None:
    """Safetensors reserves ``__metadata__``."""
    assert refusal(saved(tmp_path, {"__metadata__": torch.ones(2)})).code == "not_a_state_dict"


def test_unfinished_pruning_and_weight_norm_pass_by_name(tmp_path: Path) -> None:
    """A warning names the mask, which is not compressible; factors of weight norm are not multiplied."""
    value = {"a.weight_orig": torch.ones(2, 2), "a.weight_mask": torch.ones(2, 2), "b.weight_g": torch.ones(2, 1)}
    checkpoint = read_checkpoint(saved(tmp_path, value))
    assert names(checkpoint) == list(value)
    assert [(w.code, w.tensor) for w in checkpoint.warnings] == [("unfinished_pruning", "a.weight_mask")]
    assert checkpoint.weights.compressible == ("a.weight_orig", "b.weight_g")


@pytest.mark.parametrize("wrapper", ["module.", "_orig_mod.", "_fsdp_wrapped_module.", "module._orig_mod."])
def test_the_prefixes_of_wrappers_are_cut(tmp_path: Path, wrapper: str) -> None:
    """Prefixes of DataParallel, torch.compile, FSDP, and one around the other."""
    net = torch.nn.Linear(2, 2).state_dict()

    checkpoint = read_checkpoint(saved(tmp_path, {f"{wrapper}{name}": tensor for name, tensor in net.items()}))

    assert (names(checkpoint), checkpoint.stripped_prefix) == (["weight", "bias"], wrapper)


def test_the_counter_of_an_averaged_model_does_not_block_the_prefix(tmp_path: Path) -> None:
    """It is left out with a notice, unless the names are to stay as they are."""
    averaged = torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 2))
    path = saved(tmp_path, averaged.state_dict())

    checkpoint = read_checkpoint(path)

    assert (names(checkpoint), checkpoint.stripped_prefix) == (["weight", "bias"], "module.")
    assert ["n_averaged" in notice.detail for notice in checkpoint.warnings] == [True]
    assert names(read_checkpoint(path, strip_prefix=False)) == ["n_averaged", "module.weight", "module.bias"]
