"""The tensors of a checkpoint are compared with those of an architecture."""

from __future__ import annotations

import pytest

from cnet.errors import ArchitectureMismatchError, DatasetError, SpecError
from cnet.models import ARCHITECTURES
from cnet.models.match import check_match, output_count

RESNET = ARCHITECTURES.create("resnet20")
IMAGES = (3, 32, 32)


def shapes(classes: int = 10) -> dict[str, tuple[int, ...]]:
    """All tensors of a ResNet-20."""
    return {tensor.name: tensor.shape for tensor in RESNET.tensors(IMAGES, classes)}


def test_own_tensors_match() -> None:
    """No error is raised."""
    check_match(RESNET, IMAGES, 10, shapes())


def test_counters_of_batches_may_be_left_out() -> None:
    """Files written before PyTorch 0.4.1 have none."""
    check_match(RESNET, IMAGES, 10, {k: v for k, v in shapes().items() if "num_batches" not in k})


def test_all_differences_are_listed() -> None:
    """Missing, unexpected and mismatched names are in the attributes and in the message."""
    found = shapes()
    del found["bn1.bias"]
    found["head.weight"] = (3, 3)
    found["conv1.weight"] = (16, 1, 3, 3)
    with pytest.raises(ArchitectureMismatchError) as caught:
        check_match(RESNET, IMAGES, 10, found)
    assert caught.value.missing == ("bn1.bias",)
    assert caught.value.unexpected == ("head.weight",)
    assert caught.value.mismatched == ("conv1.weight is 16x1x3x3 in the checkpoint and 16x3x3x3 in resnet20",)
    assert "1 missing: bn1.bias" in caught.value.detail


def test_the_message_names_ten_tensors_at_most() -> None:
    """The attributes have all of them."""
    with pytest.raises(ArchitectureMismatchError, match=r"97 missing: .* and 87 more") as caught:
        check_match(RESNET, IMAGES, 10, {"other": (1,)})
    assert len(caught.value.missing) == 97
    assert caught.value.detail.count(",") == 9


def test_a_network_may_have_more_outputs_than_the_data_has_classes() -> None:
    """A data set that lacks the last classes still fits."""
    check_match(RESNET, IMAGES, 7, shapes(10))


def test_a_data_set_with_more_classes_than_outputs_is_refused() -> None:
    """The error is a DatasetError: its labels beyond the outputs cannot be used."""
    with pytest.raises(DatasetError, match="labels up to 9, and the network has 5 outputs") as caught:
        check_match(RESNET, IMAGES, 10, shapes(5))
    assert caught.value.code == "labels_out_of_range"


def test_output_count_reads_the_last_layer() -> None:
    """None where the layer is missing or has another number of dimensions."""
    assert output_count(RESNET, IMAGES, shapes(12)) == 12
    assert output_count(RESNET, IMAGES, {}) is None
    assert output_count(RESNET, IMAGES, {"linear.weight": ()}) is None


def test_images_that_are_too_small_are_refused() -> None:
    """The error is the SpecError of the architecture."""
    with pytest.raises(SpecError, match="too small"):
        check_match(RESNET, (3, 2, 2), 10, shapes())
