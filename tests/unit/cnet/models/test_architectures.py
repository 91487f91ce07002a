"""The tensors that architectures list are those of their modules."""

from __future__ import annotations

import math

import pytest
import torch

from cnet.errors import SpecError
from cnet.models import ARCHITECTURES
from cnet.models.layers import Chain, Conv, MaxPool
from cnet.training.networks.architectures import ArchitectureBuilder

SHAPES = [
    *[
        (name, shape)
        for name in ("resnet8", "resnet20", "resnet32")
        for shape in ((3, 32, 32), (1, 8, 8), (2, 4, 4), (1, 9, 13), (3, 7, 5))
    ],
    *[(name, (1, 8, 8)) for name in ("resnet44", "resnet56", "resnet110")],
    *[("lenet300_100", shape) for shape in ((1, 28, 28), (1, 8, 8), (3, 5, 2))],
    *[("lenet5", shape) for shape in ((1, 28, 28), (3, 32, 32), (1, 16, 16), (2, 17, 30))],
    *[("vgg16_cifar", shape) for shape in ((3, 32, 32), (1, 8, 8), (1, 11, 28))],
]


def module_of(name: str, shape: tuple[int, int, int], classes: int, seed: int = 0) -> torch.nn.Module:
    """The module of an architecture with fresh weights."""
    builder = ArchitectureBuilder(ARCHITECTURES.create(name), shape, classes)
    module = builder.build()
    builder.initialize(module, seed)
    return module


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_listing_equals_the_state_dict(name: str, shape: tuple[int, int, int]) -> None:
    """Names, order and shapes are those of PyTorch."""
    architecture = ARCHITECTURES.create(name)
    module = module_of(name, shape, 7)
    listed = [(tensor.name, tensor.shape) for tensor in architecture.tensors(shape, 7)]
    assert listed == [(name, tuple(value.shape)) for name, value in module.state_dict().items()]


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_module_maps_images_to_one_output_a_class(name: str, shape: tuple[int, int, int]) -> None:
    """The outputs for a batch of one in training mode are finite."""
    module = module_of(name, shape, 7).train()
    outputs = module(torch.rand((1, *shape), generator=torch.Generator().manual_seed(0)))
    assert outputs.shape == (1, 7)
    assert outputs.isfinite().all()


@pytest.mark.parametrize(
    ("name", "shape", "parameters"),
    [
        ("resnet8", (3, 32, 32), 75_290),
        ("resnet20", (3, 32, 32), 269_722),
        ("resnet32", (3, 32, 32), 464_154),
        ("resnet56", (3, 32, 32), 853_018),
        ("lenet300_100", (1, 28, 28), 266_610),
        ("lenet5", (1, 28, 28), 431_080),
        ("vgg16_cifar", (3, 32, 32), 14_728_266),
    ],
)
def test_trainable_parameters_are_those_of_the_literature(
    name: str, shape: tuple[int, int, int], parameters: int
) -> None:
    """Statistics of batch norm are not counted."""
    tensors = ARCHITECTURES.create(name).tensors(shape, 10)
    buffers = ("running_mean", "running_var", "num_batches_tracked")
    assert sum(math.prod(t.shape) for t in tensors if not t.name.endswith(buffers)) == parameters


@pytest.mark.parametrize(
    ("name", "shape"), [("resnet20", (3, 3, 32)), ("lenet5", (1, 15, 28)), ("vgg16_cifar", (3, 32, 7))]
)
def test_images_that_are_too_small_are_refused(name: str, shape: tuple[int, int, int]) -> None:
    """The message names the size and the architecture."""
    with pytest.raises(SpecError, match=f"{shape[1]}x{shape[2]} are too small"):
        ARCHITECTURES.create(name).tensors(shape, 10)


def test_a_window_larger_than_the_image_is_refused() -> None:
    """Shape inference finds it before torch would."""
    with pytest.raises(SpecError, match="window of 5x5 is applied to 2x2"):
        Chain.of(MaxPool(2), Conv(3, kernel=5)).output((1, 4, 4))


def test_same_seed_gives_the_same_module_and_leaves_the_global_generator_alone() -> None:
    """Fresh weights come from their own generator."""
    before = torch.get_rng_state()
    one, two, other = (module_of("resnet20", (1, 8, 8), 4, seed).state_dict() for seed in (5, 5, 6))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["conv1.weight"], other["conv1.weight"])


def test_shortcut_pads_half_of_the_new_channels_on_each_side() -> None:
    """With a body of zeros, the output of a block is the subsampled image in the middle channels."""
    block = module_of("resnet20", (1, 8, 8), 4).get_submodule("layer2.0").eval()
    torch.nn.init.zeros_(block.get_parameter("conv2.weight"))
    images = torch.rand((2, 16, 8, 8), generator=torch.Generator().manual_seed(0))
    outputs = block(images)
    assert torch.equal(outputs[:, 8:24], images[:, :, ::2, ::2])
    assert not outputs[:, :8].any()
    assert not outputs[:, 24:].any()


def test_batch_norm_of_a_single_value_uses_running_statistics() -> None:
    """VGG on 8x8 images has maps of one pixel, and a batch of one must not stop the training."""
    module = module_of("vgg16_cifar", (1, 8, 8), 3).train()
    assert module(torch.rand((1, 1, 8, 8))).isfinite().all()
    assert module.get_buffer("features.41.num_batches_tracked").item() == 0
